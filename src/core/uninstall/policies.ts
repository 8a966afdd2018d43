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
import { planPolicy } from '../propagation-policy/plan.ts'
import { change, type Removal, type RemovalRule, withoutKeys } from './removal.ts'

/**
 * @param narrowed the keys of the policies with workloads that run where Lodestone narrowed them. A change of its spec makes Karmada write
 *   its placement into their bindings (karmada, pkg/detector/policy.go), and so moves them. Empty if they may move.
 */
export function policyRules(narrowed: ReadonlySet<string>): RemovalRule[] {
  return [propagationPolicies, clusterPropagationPolicies].map((type) => ({
    type,
    plan: (object) => planPolicyRemoval(object as PropagationPolicy, narrowed),
  }))
}

const FIELD = 'spec.propagateDeps'

function planPolicyRemoval(policy: PropagationPolicy, narrowed: ReadonlySet<string>): Removal {
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
  if (!released) return change(type, policy, object, removes)
  if (narrowed.has(keyOfObject(policy))) {
    const why = `${FIELD}: true; without it Karmada would move the narrowed workloads of the policy`
    return change(type, policy, object, removes, [why])
  }
  const changed: PropagationPolicy = { ...object, spec: released.spec }
  return change(type, policy, changed, [FIELD, ...removes])
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
