/** Admission of policies: sets `propagateDeps` where the dependencies of a data-bound workload have to follow it. */
import { clusterPropagationPolicies, type PropagationPolicy, propagationPolicies } from '../api/karmada.ts'
import type { ResourceType } from '../api/meta.ts'
import { leaveMalformed } from '../core/outcome.ts'
import { answerPolicy, decidePolicy } from '../core/propagation-policy/decide.ts'
import { validatePolicy } from '../core/propagation-policy/validate.ts'
import { gatherPolicyInput } from '../store/gather-policy.ts'
import { defineWebhook, type Webhook } from './define.ts'

export const propagationPolicy = policyWebhook('propagation-policy', propagationPolicies)
export const clusterPropagationPolicy = policyWebhook('cluster-propagation-policy', clusterPropagationPolicies)

function policyWebhook(name: string, resource: ResourceType<PropagationPolicy>): Webhook {
  return defineWebhook({
    name,
    type: 'mutating',
    resources: [resource],
    operations: ['CREATE', 'UPDATE'],
    failurePolicy: 'FailWhereEnforced',
    gather({ object, oldObject }, { store, propagateDeps }) {
      const policy = object as PropagationPolicy
      const errors = validatePolicy(policy)
      if (errors.length > 0) return { errors }
      return gatherPolicyInput(policy, (oldObject ?? undefined) as PropagationPolicy | undefined, propagateDeps, store)
    },
    decide: (input) => ('errors' in input ? leaveMalformed(input.errors) : answerPolicy(decidePolicy(input), input)),
  })
}
