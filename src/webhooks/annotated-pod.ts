/** Admission of pods with an annotation, but without the label that selects pods: completes the label, and checks declared dependencies. */
import { DEPENDS_ON_ANNOTATION, INJECT_LABEL, VOLUMES_ANNOTATION } from '../api/lodestone.ts'
import { type Pod, pods } from '../api/pod.ts'
import { dependsOnErrors } from '../core/dependencies/depends-on.ts'
import { withErrors } from '../core/outcome.ts'
import { completePod } from '../core/workload/complete-pod.ts'
import { MIRROR_ANNOTATION } from '../core/workload/decide-pod.ts'
import type { WorkloadKinds } from '../core/workload-kinds/kinds.ts'
import { hasWorkloadAnnotation } from './annotation-condition.ts'
import { defineWebhook, type Webhook } from './define.ts'
import { pod } from './pod.ts'

/** Returns the admission point for annotated pods; the kinds are those that a pod may declare as dependencies. */
export function annotatedPodWebhook(kinds: WorkloadKinds): Webhook {
  return defineWebhook({
    name: 'annotated-pod',
    type: 'mutating',
    resources: [pods],
    operations: ['CREATE'],
    matchCondition: {
      name: 'is-annotated-without-label',
      expression: [
        `(${hasWorkloadAnnotation(VOLUMES_ANNOTATION, DEPENDS_ON_ANNOTATION)})`,
        `!(has(object.metadata.labels) && '${INJECT_LABEL}' in object.metadata.labels)`,
        `!('${MIRROR_ANNOTATION}' in object.metadata.annotations)`,
      ].join(' && '),
    },
    // As with the label: a pod that requests data must not run without it.
    failurePolicy: 'Fail',
    gather: (request, context) => ({ request, context }),
    decide({ request, context }) {
      const completed = completePod(request.object as Pod)
      const outcome =
        'outcome' in completed ? completed.outcome : pod.review({ ...request, object: completed.pod }, context)
      return withErrors(outcome, dependsOnErrors(request.object, undefined, kinds))
    },
  })
}
