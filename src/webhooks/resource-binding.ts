/**
 * Admission of bindings: narrows their cluster affinity to the clusters with the workload's data. A PersistentVolumeClaim that follows a workload stays
 * while the workload is in no cluster.
 */
import {
  type BindingSnapshot,
  clusterResourceBindings,
  type ResourceBinding,
  resourceBindings,
} from '../api/karmada.ts'
import type { ResourceType } from '../api/meta.ts'
import type { FieldError } from '../base/field-errors.ts'
import { answerProbe } from '../core/admission/webhook-probe.ts'
import { bindingDecisionId } from '../core/decision-id.ts'
import { keepVolumeClaim } from '../core/dependencies/keep-volume-claim.ts'
import { answerBinding, decideBinding } from '../core/resource-binding/decide.ts'
import { scheduledOnHold } from '../core/resource-binding/hold.ts'
import { type BindingInput, validateBinding } from '../core/resource-binding/input.ts'
import { lostClusterErrors } from '../core/resource-binding/lost-clusters.ts'
import { newClusterErrors } from '../core/resource-binding/new-clusters.ts'
import type { WorkloadKinds } from '../core/workload-kinds/kinds.ts'
import { followsByUs, gatherBindingInput } from '../queries/binding.ts'
import { defineKarmadaWebhook, type Webhook } from './define.ts'

/** The webhooks of both kinds of bindings. `kinds` says what a move of a workload costs. */
export function bindingWebhooks(kinds: WorkloadKinds): Webhook[] {
  return [
    bindingWebhook('resource-binding', resourceBindings, kinds),
    bindingWebhook('cluster-resource-binding', clusterResourceBindings, kinds),
  ]
}

function bindingWebhook(name: string, resource: ResourceType<ResourceBinding>, kinds: WorkloadKinds): Webhook {
  return defineKarmadaWebhook({
    name,
    resource,
    // Attached bindings have no placement; they follow the bindings that they are attached to.
    matchCondition: {
      name: 'has-a-placement-or-is-of-a-volume-claim',
      expression: "has(object.spec.placement) || object.spec.resource.kind == 'PersistentVolumeClaim'",
    },
    validate: validateBinding,
    // Karmada writes every binding again when it restarts. Without the limit of the loop, all waiting workloads would move at the same
    // time.
    gather: (binding, stored, context) => ({
      ...gatherBindingInput(binding, stored, { ...context, kinds }, { leavesMovesToLoop: true }),
      isOurs: (snapshot: BindingSnapshot) => followsByUs(snapshot, context.store),
    }),
    decide(input) {
      const probed = answerProbe(input.binding)
      if (probed) return probed
      if (input.binding.spec.placement === undefined) return keepVolumeClaim(input)
      const errors = rejectionOf(input)
      if (errors.length === 0) return answerBinding(decideBinding(input), input)
      // The stored decision is the reason.
      return {
        kind: 'deny',
        errors,
        auditAnnotations: { 'decision-id': bindingDecisionId(input.stored ?? input.binding) },
      }
    },
  })
}

/** The reason to reject a write of the scheduler; empty for nearly every write. */
function rejectionOf(input: BindingInput): FieldError[] {
  const onHold = scheduledOnHold(input)
  if (onHold.length > 0) return onHold
  const outside = newClusterErrors(input)
  return outside.length > 0 ? outside : lostClusterErrors(input)
}
