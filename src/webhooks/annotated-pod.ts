/** Admission of annotated pods that the label does not select: completes a missing label, and checks declared dependencies. */
import { DEPENDS_ON_ANNOTATION, INJECT_LABEL, VOLUMES_ANNOTATION } from '../api/lodestone.ts'
import { type Pod, pods } from '../api/pod.ts'
import { withErrors } from '../core/outcome.ts'
import { completePod, MIRROR_ANNOTATION } from '../core/workload/decide-pod.ts'
import type { WorkloadKinds } from '../core/workload-kinds/kinds.ts'
import { declaredErrors } from '../queries/declared.ts'
import { hasWorkloadAnnotation } from './annotation-condition.ts'
import { defineWebhook, type Webhook } from './define.ts'
import { podWebhook } from './pod.ts'

const hasLabel = `has(object.metadata.labels) && '${INJECT_LABEL}' in object.metadata.labels`

/** Returns the admission point for annotated pods; the kinds are those that a pod may declare as dependencies. */
export function annotatedPodWebhook(kinds: WorkloadKinds): Webhook {
  const pod = podWebhook(kinds)
  return defineWebhook({
    name: 'annotated-pod',
    type: 'mutating',
    resources: [pods],
    operations: ['CREATE'],
    matchCondition: {
      name: 'is-annotated-but-not-selected',
      expression: [
        // A pod with the label `"false"` gets no volumes, but it may declare dependencies.
        `(${hasWorkloadAnnotation(VOLUMES_ANNOTATION)} && !(${hasLabel}) || ${hasWorkloadAnnotation(DEPENDS_ON_ANNOTATION)})`,
        `!(${hasLabel} && object.metadata.labels['${INJECT_LABEL}'] == 'true')`,
        `!('${MIRROR_ANNOTATION}' in object.metadata.annotations)`,
      ].join(' && '),
    },
    // As with the label: a pod that requests data must not run without it.
    failurePolicy: 'Fail',
    validates: 'spec and annotations',
    gather: (request, context) => ({ request, context }),
    decide({ request, context }) {
      const completed = completePod(request.object as Pod)
      if ('pod' in completed) return pod.review({ ...request, object: completed.pod }, context)
      return withErrors(completed.outcome, declaredErrors(request, kinds, context.store))
    },
  })
}
