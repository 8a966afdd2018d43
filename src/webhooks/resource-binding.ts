/** Admission of bindings: narrows their cluster affinity to the clusters with the workload's data. */
import { clusterResourceBindings, type ResourceBinding, resourceBindings } from '../api/karmada.ts'
import type { ResourceType } from '../api/meta.ts'
import { answerBinding, decideBinding } from '../core/resource-binding/decide.ts'
import { scheduledOnHold } from '../core/resource-binding/hold.ts'
import { validateBinding } from '../core/resource-binding/validate.ts'
import { gatherBindingInput } from '../queries/binding.ts'
import { defineKarmadaWebhook, type Webhook } from './define.ts'

export const resourceBinding = bindingWebhook('resource-binding', resourceBindings)
export const clusterResourceBinding = bindingWebhook('cluster-resource-binding', clusterResourceBindings)

function bindingWebhook(name: string, resource: ResourceType<ResourceBinding>): Webhook {
  return defineKarmadaWebhook({
    name,
    resource,
    // Attached bindings have no placement; they follow the bindings that they are attached to.
    matchCondition: { name: 'has-a-placement', expression: 'has(object.spec.placement)' },
    validate: validateBinding,
    // Karmada writes every binding again when it restarts. Without the limit of the loop, all waiting workloads would move at the same
    // time.
    gather: (binding, stored, context) => gatherBindingInput(binding, stored, context, { leavesMovesToLoop: true }),
    decide(input) {
      const errors = scheduledOnHold(input)
      return errors.length > 0 ? { kind: 'deny', errors } : answerBinding(decideBinding(input), input)
    },
  })
}
