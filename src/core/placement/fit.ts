/** Whether Karmada's scheduler would find a cluster for a narrowed affinity. If it finds none, it removes a workload from every cluster. */
import type { ClusterAffinity, PlacementAffinity } from '../../api/karmada.ts'
import { describeRefusals, type Refusal } from './acceptance.ts'
import { affinityTiers } from './affinity.ts'
import { type SpreadCheck, UNCONSTRAINED } from './spread.ts'

/** Why a placement cannot be narrowed. */
export type Misfit =
  /** No cluster that the base allows has the data. */
  | { kind: 'unsatisfiable'; reason: string }
  /** The scheduler would refuse each cluster with the data. */
  | { kind: 'unfit'; reason: string }

export interface FitInput {
  /** A narrowed affinity: each term names clusters that its selectors allow. */
  affinity: PlacementAffinity
  refuses: Refusal
  spread: SpreadCheck
  /** Whether overflow tiers count (binding-state.ts). */
  usesOverflow: boolean
  /** `status.schedulerObservingAffinityName` of the binding. */
  observedGroup: string | undefined
}

/**
 * Returns why the scheduler would find no cluster, as a part of a sentence; undefined if it would find one.
 *
 * With groups, the scheduler begins with the group that it chose last, and never goes back to those before it (v1.18.1,
 * pkg/scheduler/helper.go, getAffinityIndex).
 */
export function findMisfit(input: FitInput): string | undefined {
  const groups = candidates(input)
  let first: string | undefined
  for (const names of groups) {
    const misfit = misfitOfNames(names, input)
    if (misfit === undefined) return undefined
    first ??= misfit
  }
  if (groups.length < 2) return first
  return misfitOfNames([...new Set(groups.flat())], input) ?? first
}

/** Returns the clusters of the group that the scheduler would choose; undefined if no group fits, or if it may be one that names none. */
export function chosenGroup(input: FitInput): readonly string[] | undefined {
  const group = candidates(input).find((names) => names.length === 0 || misfitOfNames(names, input) === undefined)
  return group?.length ? group : undefined
}

/** Whether the scheduler may find a cluster: one group fits, or names none, as a group with selectors. */
export function mayFit(input: FitInput): boolean {
  return candidates(input).some((names) => names.length === 0 || misfitOfNames(names, input) === undefined)
}

/** The clusters of each group that the scheduler tries. */
function candidates({ affinity, usesOverflow, observedGroup }: FitInput): (readonly string[])[] {
  const { clusterAffinity, clusterAffinities } = affinity
  if (!clusterAffinities) return [namesIn(clusterAffinity ? [clusterAffinity] : [])]
  const begin = clusterAffinities.findIndex(({ affinityName }) => affinityName === observedGroup)
  return clusterAffinities.slice(Math.max(0, begin)).map((group) => namesIn(affinityTiers(group, usesOverflow)))
}

function namesIn(terms: readonly ClusterAffinity[]): readonly string[] {
  const [only, ...others] = terms
  if (others.length === 0) return only?.clusterNames ?? []
  return [...new Set(terms.flatMap(({ clusterNames = [] }) => clusterNames))]
}

function misfitOfNames(names: readonly string[], { refuses, spread }: FitInput): string | undefined {
  const accepts = (name: string) => refuses(name) === undefined
  if (spread === UNCONSTRAINED && names.some(accepts)) return undefined
  const accepted = names.filter(accepts)
  return accepted.length > 0 ? spread(accepted) : describeRefusals(names, refuses)
}
