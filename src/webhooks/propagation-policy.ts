/** Admission of policies: sets `propagateDeps` if a policy selects a data-bound workload, so that its dependencies follow it. */
import { clusterPropagationPolicies, type PropagationPolicy, propagationPolicies } from '../api/karmada.ts'
import type { ResourceType } from '../api/meta.ts'
import { answerPolicy, decidePolicy, validatePolicy } from '../core/propagation-policy/decide.ts'
import { gatherPolicyInput } from '../queries/policy.ts'
import { defineKarmadaWebhook, type Webhook } from './define.ts'

export const propagationPolicy = policyWebhook('propagation-policy', propagationPolicies)
export const clusterPropagationPolicy = policyWebhook('cluster-propagation-policy', clusterPropagationPolicies)

function policyWebhook(name: string, resource: ResourceType<PropagationPolicy>): Webhook {
  return defineKarmadaWebhook({
    name,
    resource,
    validate: validatePolicy,
    gather: (policy, stored, context) => gatherPolicyInput(policy, stored, context.propagateDeps, context),
    decide: (input) => answerPolicy(decidePolicy(input), input),
  })
}
