/** Admission of pods that request volumes: injects volumes, mounts and node affinity, and checks declared dependencies. */
import { INJECT_LABEL } from '../api/lodestone.ts'
import { type Pod, pods } from '../api/pod.ts'
import type { FieldError } from '../base/field-errors.ts'
import { podDecisionId } from '../core/decision-id.ts'
import { denyErrors, leaveMalformed, type Outcome, withErrors } from '../core/outcome.ts'
import { decidePod, isMirror } from '../core/workload/decide-pod.ts'
import { validatePodSpec } from '../core/workload/validate.ts'
import type { WorkloadKinds } from '../core/workload-kinds/kinds.ts'
import { declaredErrors } from '../queries/declared.ts'
import { fitsNodeOf, isHub, volumeManagersOf } from '../queries/volumes.ts'
import { defineWebhook, type Webhook } from './define.ts'

/**
 * Rejects a pod that is too large to check, because it must not run without its data. Allows a malformed pod: the API server rejects it.
 */
function refuseTooLarge(errors: FieldError[]): Outcome {
  return errors.some(({ code }) => code === 'TooLong') ? denyErrors(errors) : leaveMalformed(errors)
}

/** Returns the admission point for pods; the kinds are those that a pod may declare as dependencies. */
export function podWebhook(kinds: WorkloadKinds): Webhook {
  return defineWebhook({
    name: 'pod',
    type: 'mutating',
    resources: [pods],
    // The mounts of a pod cannot be changed after its creation.
    operations: ['CREATE'],
    objectSelector: { matchLabels: { [INJECT_LABEL]: 'true' } },
    // A pod that requests data must not run without it. Pods without the label are not sent to this webhook.
    failurePolicy: 'Fail',
    validates: 'spec and annotations',
    gather(request, { store, whenNotReady, volumeLimits }) {
      const { uid, object, namespace } = request
      const pod = object as Pod
      const errors = validatePodSpec(pod.spec)
      if (errors.length > 0) return { errors }
      // A pod that is being created may have no namespace of its own (kube-apiserver before 1.27).
      const place = namespace || pod.metadata.namespace
      const managers = volumeManagersOf(store, place, volumeLimits)
      const input = { pod, namespace: place, managers, whenNotReady, isHub: isHub(store) }
      const declared = isMirror(pod) ? [] : declaredErrors(request, kinds, store)
      return { ...input, mayRun: fitsNodeOf(store, pod.spec), request: uid, declared }
    },
    decide(input) {
      if ('errors' in input) return refuseTooLarge(input.errors)
      const outcome = withErrors(decidePod(input), input.declared)
      const id = outcome.kind === 'allow' ? undefined : podDecisionId(input.pod, input.namespace)
      return id === undefined
        ? outcome
        : { ...outcome, auditAnnotations: { ...outcome.auditAnnotations, 'decision-id': id } }
    },
  })
}
