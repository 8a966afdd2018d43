/** Plans the end of `propagateDeps`: Lodestone removes what it set, when no workload of the policy has a data claim or volumes. */
import { clusterPropagationPolicies, type PropagationPolicy, propagationPolicies } from '../../api/karmada.ts'
import { PROPAGATE_DEPS_SET_ANNOTATION } from '../../api/lodestone.ts'
import { nameOfObject } from '../../api/meta.ts'
import { declarationsIn } from '../admission/declared-value.ts'
import { NOTHING, type Plan } from '../plan.ts'
import { isSetByUs } from './decide.ts'

/**
 * Plans for a policy as the API server has it, with all fields: removes `propagateDeps` with its note. A value that a user declares stays,
 * without the note. So does a value that Karmada requires: its webhook rejects application failover without it
 * (pkg/util/validation/validation.go).
 */
export function planRelease(policy: PropagationPolicy): Plan {
  const { failover } = policy.spec as { failover?: { application?: unknown } }
  if (!isSetByUs(policy) || policy.metadata.deletionTimestamp || failover?.application) return NOTHING
  const { namespace, resourceVersion } = policy.metadata
  const of = { type: namespace ? propagationPolicies : clusterPropagationPolicies, ...nameOfObject(policy) }
  const note = { resourceVersion, annotations: { [PROPAGATE_DEPS_SET_ANNOTATION]: null } }
  const path = ['metadata', 'annotations', PROPAGATE_DEPS_SET_ANNOTATION]
  if (declarationsIn(policy)(['spec', 'propagateDeps'], path)) {
    return { actions: [{ kind: 'patch', of, patch: { metadata: note } }] }
  }
  return {
    actions: [
      { kind: 'patch', of, patch: { metadata: note, spec: { propagateDeps: null } } },
      {
        kind: 'event',
        about: policy,
        type: 'Normal',
        reason: 'PropagateDepsUnset',
        message: 'propagateDeps removed: no workload of the policy has a claim or volumes any more',
      },
    ],
  }
}
