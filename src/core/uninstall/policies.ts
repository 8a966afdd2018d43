/** Removes the traces of Lodestone from policies of Karmada: `propagateDeps` and its annotations. */
import {
  clusterPropagationPolicies,
  type PropagationPolicy,
  policyTypeIn,
  propagationPolicies,
} from '../../api/karmada.ts'
import { PROPAGATE_DEPS_ANNOTATION, PROPAGATE_DEPS_SET_ANNOTATION } from '../../api/lodestone.ts'
import { keyOfObject } from '../../api/meta.ts'
import { applyMergePatch } from '../../base/merge-patch.ts'
import { declarationsIn } from '../admission/declared-value.ts'
import { isSetByUs } from '../propagation-policy/decide.ts'
import { isPropagateDepsDeclared, planPolicy, requiresPropagateDeps } from '../propagation-policy/plan.ts'
import type { Harm } from './kept-policies.ts'
import { change, type Removal, type RemovalRule, withoutKeys } from './removal.ts'

const HARMS: Readonly<Record<Harm, string>> = {
  moves: 'move the narrowed workloads of the policy',
  deletesVolumeClaims: 'delete PersistentVolumeClaims of its workloads in members',
}

/** @param kept the policies whose `propagateDeps` stays, by key, with what Karmada would do without it; none if it may do that */
export function policyRules(kept: ReadonlyMap<string, Harm>): RemovalRule[] {
  return [propagationPolicies, clusterPropagationPolicies].map((type) => ({
    type,
    plan: (object) => planPolicyRemoval(object as PropagationPolicy, kept),
  }))
}

const FIELD = 'spec.propagateDeps'

function planPolicyRemoval(policy: PropagationPolicy, kept: ReadonlyMap<string, Harm>): Removal {
  const type = policyTypeIn(policy.metadata.namespace)
  const isDeclared = declarationsIn(policy)(
    ['metadata', 'annotations', PROPAGATE_DEPS_ANNOTATION],
    ['metadata', 'annotations', PROPAGATE_DEPS_SET_ANNOTATION],
  )
  const isOurs = (key: string) =>
    key === PROPAGATE_DEPS_SET_ANNOTATION || (key === PROPAGATE_DEPS_ANNOTATION && !isDeclared)
  const { object, removed } = withoutKeys(policy, 'annotations', isOurs)
  const removes = removed.map((key) => `annotation ${key}`)
  const released = release(policy)
  if (!released) return change(type, policy, object, removes, keepReason(policy))
  const harm = kept.get(keyOfObject(policy))
  if (harm) return change(type, policy, object, removes, [`${FIELD}: true; without it Karmada would ${HARMS[harm]}`])
  const changed: PropagationPolicy = { ...object, spec: released.spec }
  return change(type, policy, changed, [FIELD, ...removes])
}

/** Says that `propagateDeps` stays although Lodestone set it; empty if the author has written it too. */
function keepReason(policy: PropagationPolicy): string[] {
  const stays = isSetByUs(policy) && requiresPropagateDeps(policy) && !isPropagateDepsDeclared(policy)
  return stays ? [`${FIELD}: true; Karmada requires it for failover.application`] : []
}

/** Returns the policy without the `propagateDeps` of Lodestone; undefined if it has none, or if it must stay. */
function release(policy: PropagationPolicy): PropagationPolicy | undefined {
  const [action] = planPolicy({
    policy,
    mode: 'never',
    dataBound: undefined,
    release: { waitMs: 0, current: policy },
  }).actions
  if (action?.kind !== 'patch' || action.patch['spec'] === undefined) return undefined
  return applyMergePatch(policy, action.patch) as PropagationPolicy
}
