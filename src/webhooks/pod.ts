/** Admission of pods that ask for volumes: puts volumes, mounts and node affinity in. */
import { INJECT_LABEL } from '../api/lodestone.ts'
import { type Pod, pods } from '../api/pod.ts'
import type { FieldError } from '../core/field-errors.ts'
import { leaveMalformed, type Outcome, refuseErrors } from '../core/outcome.ts'
import { decidePod } from '../core/workload/decide-pod.ts'
import { validatePodSpec } from '../core/workload/validate.ts'
import { isHub, volumeManagersOf } from '../queries/volumes.ts'
import { defineWebhook } from './define.ts'

/** Rejects a pod that is too large to check, because it must not run without its data. Leaves a malformed pod to the API server. */
function refuseTooLarge(errors: FieldError[]): Outcome {
  return errors.some(({ code }) => code === 'TooLong') ? refuseErrors(errors) : leaveMalformed(errors)
}

export const pod = defineWebhook({
  name: 'pod',
  type: 'mutating',
  resources: [pods],
  // The mounts of a pod cannot be changed later.
  operations: ['CREATE'],
  objectSelector: { matchLabels: { [INJECT_LABEL]: 'true' } },
  // A pod that asks for data and gets none would run on nothing; those that do not ask are never sent here.
  failurePolicy: 'Fail',
  gather({ object, namespace }, { store, whenNotReady, volumeLimits }) {
    const pod = object as Pod
    const errors = validatePodSpec(pod.spec)
    if (errors.length > 0) return { errors }
    // Of a pod being created its own namespace may be missing (kube-apiserver before 1.27).
    const managers = volumeManagersOf(store, namespace || pod.metadata.namespace, volumeLimits)
    return { pod, managers, whenNotReady, isHub: isHub(store) }
  },
  decide: (input) => ('errors' in input ? refuseTooLarge(input.errors) : decidePod(input)),
})
