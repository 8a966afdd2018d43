/** Plans the loop of policies: sets `propagateDeps` if a claim or a workload was created after the policy. */
import { clusterPropagationPolicies, propagationPolicies } from '../../api/karmada.ts'
import { PROPAGATE_DEPS_SET_ANNOTATION } from '../../api/lodestone.ts'
import { nameOfObject } from '../../api/meta.ts'
import { NOTHING, type Plan } from '../plan.ts'
import { decidePolicy, type PolicyInput } from './decide.ts'

/** Plans for a cached policy: one patch for the resourceVersion that was read, or nothing. Admission records the author's choice. */
export function planPolicy(input: Omit<PolicyInput, 'stored'>): Plan {
  const { policy } = input
  const { state, message } = decidePolicy({ ...input, stored: policy })
  if (state !== 'Propagated') return NOTHING
  const { namespace, resourceVersion } = policy.metadata
  const type = namespace ? propagationPolicies : clusterPropagationPolicies
  const of = { type, ...nameOfObject(policy) }
  return {
    actions: [
      {
        kind: 'patch',
        of,
        patch: {
          metadata: { resourceVersion, annotations: { [PROPAGATE_DEPS_SET_ANNOTATION]: 'true' } },
          spec: { propagateDeps: true },
        },
      },
      {
        kind: 'event',
        about: policy,
        type: 'Normal',
        reason: 'PropagateDepsSet',
        message: `propagateDeps set: ${message}`,
      },
    ],
  }
}
