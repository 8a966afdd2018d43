/** Lines about the placement of a workload: its policy and its binding. */
import {
  MANAGED_BY_LABEL,
  type PlacementAffinity,
  type PropagationPolicy,
  type ResourceBinding,
} from '../../api/karmada.ts'
import { keyOfObject, referenceOf } from '../../api/meta.ts'
import { defined } from '../../base/json.ts'
import { bindingDecisionId } from '../../core/decision-id.ts'
import { effectiveAffinity } from '../../core/placement/affinity.ts'
import { targetClusters } from '../../core/placement/binding-state.ts'
import { declineReason } from '../../core/propagation-policy/decide.ts'
import { BASE_OF_POLICY, readAnnotations } from '../../core/resource-binding/annotations.ts'
import type { BindingDecision } from '../../core/resource-binding/decide.ts'
import { otherBindingClause } from '../../core/resource-binding/derive.ts'
import { isLazy } from '../../core/resource-binding/input.ts'
import { firstNames } from './lists.ts'
import type { Placed } from './placed.ts'
import type { TreeNode } from './tree.ts'

/** The policy and the binding of a workload. */
export function placementNodes(placed: Placed): TreeNode[] {
  const { policy, placement, other } = placed
  return [
    policy ? policyNode(policy) : withoutPolicy(placed),
    ...(placement ? [bindingNode(placement)] : []),
    ...(other ? [{ text: `Karmada creates no binding for it: ${otherBindingClause(other)}` }] : []),
  ]
}

/** Says what it means that no policy selects a workload. Karmada keeps the binding of a deleted policy. */
function withoutPolicy({ placement, isPartial }: Placed): TreeNode {
  if (isPartial) return { text: 'no policy that you may list selects it', state: 'Unknown' }
  const stored = placement?.input.stored
  const owner = stored?.metadata.labels?.[MANAGED_BY_LABEL]
  if (owner)
    return { text: `no policy selects it: a ${owner} places it, and claims do not narrow it`, state: 'NotSelected' }
  const effect = !stored
    ? 'Karmada creates no binding for it'
    : stored.spec.placement
      ? 'the scheduler looks at its binding only when a cluster changes'
      : 'it is a dependency alone'
  return { text: `no policy selects it: ${effect}`, state: 'NotSelected' }
}

function policyNode(policy: PropagationPolicy): TreeNode {
  const declined = declineReason(policy)
  return {
    ...referenceOf(policy),
    text: `${policy.kind} ${keyOfObject(policy)}: ${describeAffinity(effectiveAffinity(policy.spec.placement))}`,
    children: [
      ...(isLazy(policy) ? [{ text: 'activationPreference is Lazy: it applies when the workload changes' }] : []),
      ...(policy.spec.propagateDeps ? [{ text: 'dependencies follow: propagateDeps is set' }] : []),
      ...(declined ? [{ text: `dependencies do not follow: ${declined}` }] : []),
    ],
  }
}

function bindingNode(placement: NonNullable<Placed['placement']>): TreeNode {
  const { binding, input, decision } = placement
  const { stored } = input
  const { state, binding: decided, message } = decision
  const scheduled = targetClusters(binding.spec)
  const title = `${binding.kind} ${keyOfObject(binding)}`
  return {
    ...referenceOf(binding),
    text: `${title}${stored ? '' : ' (as Karmada would create it)'}: ${state === 'Untouched' ? 'unchanged' : state}`,
    state,
    ...defined({
      reason: message || undefined,
      clusters: stored && scheduled,
      decisionId: stored && bindingDecisionId(stored),
    }),
    children: [
      ...(message ? [{ text: message }] : []),
      ...(stored ? [decisionNode(stored, decision)] : []),
      ...(binding.spec.placement === undefined
        ? [{ text: 'has no placement: it follows the bindings that require it' }]
        : [
            { text: `before: ${describeAffinity(affinityBefore(decision.binding, binding, input.policy))}` },
            {
              text: `after:  ${state === 'OnHold' ? 'no cluster, until the hold ends' : describeAffinity(effectiveAffinity(decided.spec.placement))}`,
            },
          ]),
      ...(stored ? [{ text: `scheduled to: ${firstNames(scheduled) || 'none yet'}` }] : []),
    ],
  }
}

/** The id of the decision that the binding has. The present decision may be a later one. */
function decisionNode(stored: ResourceBinding, { state, binding: decided }: BindingDecision): TreeNode {
  const id = bindingDecisionId(stored)
  const isStored = id === bindingDecisionId(decided)
  return {
    text: isStored ? `decision id: ${id}` : `decision id: ${id}, of the stored decision; this one is not stored yet`,
    isDetail: isStored && state === 'Untouched',
  }
}

/**
 * Returns the affinity before narrowing.
 *
 * @param decided the binding with the annotations of a decision
 * @param undecided the binding before the decision, whose affinity counts if the decision has recorded none
 */
export function affinityBefore(
  decided: ResourceBinding,
  undecided: ResourceBinding,
  policy: Pick<PropagationPolicy['spec'], 'placement'> | undefined,
): PlacementAffinity {
  const { base } = readAnnotations(decided.metadata.annotations)
  const known = base === BASE_OF_POLICY ? effectiveAffinity(policy?.placement) : base
  return known ?? effectiveAffinity(undecided.spec.placement)
}

/** Returns the clusters that an affinity allows, in words. */
export function describeAffinity({ clusterAffinity, clusterAffinities }: PlacementAffinity): string {
  if (clusterAffinities)
    return clusterAffinities.map((term) => `${term.affinityName} [${describeTerm(term)}]`).join(', then ')
  return clusterAffinity ? describeTerm(clusterAffinity) : 'every cluster'
}

function describeTerm({
  clusterNames,
  exclude,
  labelSelector,
  fieldSelector,
}: NonNullable<PlacementAffinity['clusterAffinity']>): string {
  return [
    clusterNames?.length ? firstNames(clusterNames) : 'every cluster',
    ...(labelSelector || fieldSelector ? ['that its selectors match'] : []),
    ...(exclude?.length ? [`except ${firstNames(exclude)}`] : []),
  ].join(' ')
}
