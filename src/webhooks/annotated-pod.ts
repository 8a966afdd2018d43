/** Admission of pods with the annotation for volumes, but without the label that selects pods: adds the label and the volumes. */
import { INJECT_LABEL } from '../api/lodestone.ts'
import { type Pod, pods } from '../api/pod.ts'
import { completePod } from '../core/workload/complete-pod.ts'
import { MIRROR_ANNOTATION } from '../core/workload/decide-pod.ts'
import { hasVolumesAnnotation } from './annotation-condition.ts'
import { defineWebhook } from './define.ts'
import { pod } from './pod.ts'

export const annotatedPod = defineWebhook({
  name: 'annotated-pod',
  type: 'mutating',
  resources: [pods],
  operations: ['CREATE'],
  matchCondition: {
    name: 'is-annotated-without-label',
    expression: [
      hasVolumesAnnotation(),
      `!(has(object.metadata.labels) && '${INJECT_LABEL}' in object.metadata.labels)`,
      `!('${MIRROR_ANNOTATION}' in object.metadata.annotations)`,
    ].join(' && '),
  },
  // As with the label: a pod that requests data must not run without it.
  failurePolicy: 'Fail',
  gather: (request, context) => ({ request, context }),
  decide({ request, context }) {
    const completed = completePod(request.object as Pod)
    return 'outcome' in completed ? completed.outcome : pod.review({ ...request, object: completed.pod }, context)
  },
})
