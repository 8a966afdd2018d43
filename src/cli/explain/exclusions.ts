/** The clusters in which a workload may run, and what excludes each of them. */
import { clusters } from '../../api/karmada.ts'
import { membership, sortedUnique } from '../../base/json.ts'
import type { ClaimAnswer } from '../../core/data-source/locate.ts'
import { schedulingRefusal } from '../../core/placement/acceptance.ts'
import { usesOverflow } from '../../core/placement/binding-state.ts'
import { placementFilter } from '../../core/placement/placement-filter.ts'
import { clusterLookup } from '../../queries/binding.ts'
import type { ObjectStore } from '../../store/store.ts'
import type { Placed } from './placed.ts'
import { affinityBefore } from './placement.ts'
import type { Context } from './target.ts'

/** The clusters of the hub, and those in which data is, sorted. */
export function candidateNames(claims: readonly ClaimAnswer[], store: ObjectStore): string[] {
  const known = [...store.list(clusters)].map(({ metadata }) => metadata.name ?? '')
  const withData = claims.flatMap(({ answer }) => (answer.kind === 'located' ? answer.clusters : []))
  return sortedUnique([...known, ...withData])
}

/** What besides data excludes a cluster, as rests of sentences about it: the policy, and the filters of Karmada's scheduler. */
export function exclusionsOf({ policy, placement }: Placed, context: Context): (cluster: string) => string[] {
  if (!policy && !placement) return () => ['is not selected: no policy selects the workload']
  if (!placement) return () => []
  const { binding, input, decision } = placement
  const { store, karmadaRules } = context
  const lookup = clusterLookup(store)
  const before = affinityBefore(decision.binding, binding, input.policy)
  const { allows } = placementFilter(before, lookup, usesOverflow(binding.spec, karmadaRules), karmadaRules)
  const refusal = schedulingRefusal(binding.spec, lookup)
  return (name) => {
    const refused = refusal(name)
    return [...(allows(name) ? [] : ['is not allowed by the policy']), ...(refused === undefined ? [] : [refused])]
  }
}

/** What the required data excludes a cluster by. Data whose location is not known excludes every cluster. */
export function dataExclusions(claims: readonly ClaimAnswer[]): (cluster: string) => string[] {
  const required = claims.filter(({ enforcement }) => enforcement === 'Required')
  const located = required.flatMap(({ claim, answer }) =>
    answer.kind === 'located' ? [{ claim, isIn: membership(answer.clusters) }] : [],
  )
  const waits = required.flatMap(({ claim, answer }) =>
    answer.kind === 'located'
      ? []
      : [`waits: the data of ${claim} is ${answer.kind === 'nowhere' ? 'nowhere' : 'not located yet'}`],
  )
  return (name) => [
    ...located.filter(({ isIn }) => !isIn(name)).map(({ claim }) => `does not have the data of ${claim}`),
    ...waits,
  ]
}
