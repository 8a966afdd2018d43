/** Admission of bindings: narrows their cluster affinity to where the workload's data is. */
import type { AdmissionRequest } from '../api/admission.ts'
import { clusterResourceBindings, type ResourceBinding, resourceBindings } from '../api/karmada.ts'
import type { ResourceType } from '../api/meta.ts'
import type { FieldError } from '../core/field-errors.ts'
import { leaveMalformed } from '../core/outcome.ts'
import { answerBinding, decideBinding } from '../core/resource-binding/decide.ts'
import type { BindingInput } from '../core/resource-binding/input.ts'
import { validateBinding } from '../core/resource-binding/validate.ts'
import { gatherBindingInput } from '../store/gather-binding.ts'
import { defineWebhook, type GatherContext, type Webhook } from './define.ts'

export const resourceBinding = bindingWebhook('resource-binding', resourceBindings)
export const clusterResourceBinding = bindingWebhook('cluster-resource-binding', clusterResourceBindings)

function bindingWebhook(name: string, resource: ResourceType<ResourceBinding>): Webhook {
  return defineWebhook({
    name,
    type: 'mutating',
    resources: [resource],
    operations: ['CREATE', 'UPDATE'],
    failurePolicy: 'FailWhereEnforced',
    // Attached bindings have no placement: they follow their parents.
    matchCondition: { name: 'has-a-placement', expression: 'has(object.spec.placement)' },
    gather: gatherBinding,
    decide: (input) => ('errors' in input ? leaveMalformed(input.errors) : answerBinding(decideBinding(input), input)),
  })
}

function gatherBinding(
  { object, oldObject }: AdmissionRequest,
  { store, now }: GatherContext,
): BindingInput | { errors: FieldError[] } {
  const binding = object as ResourceBinding
  const errors = validateBinding(binding)
  if (errors.length > 0) return { errors }
  const stored = (oldObject ?? undefined) as ResourceBinding | undefined
  // Karmada writes every binding again when it restarts: what waits for its turn to move would move all at once.
  return gatherBindingInput(binding, stored, store, now, { leavesMovesToLoop: true })
}
