/** Decides for which worker clusters of MultiKueue a Workload is nominated, from the decisions on its jobs. */
import type { Placement } from '../../api/karmada.ts'
import { MAX_NOMINATED_CLUSTERS } from '../../api/kueue.ts'
import { defined, sortedUnique } from '../../base/json.ts'
import { listNames } from '../../base/names.ts'
import { affinityTerms, effectiveAffinity } from '../placement/affinity.ts'
import type { BindingDecision } from '../resource-binding/decide.ts'
import { joinMessages, NO_JOB } from './decide-check.ts'

/** A cluster of a MultiKueueConfig. */
export interface WorkerCluster {
  /** The name of its MultiKueueCluster. */
  name: string
  /** The name that it has in DataSources; undefined while its MultiKueueCluster does not exist. */
  location: string | undefined
}

export interface NominationInput {
  /** Why claims or sources may exist that are not known; absent if all are known. */
  unknown?: string | undefined
  /** Whether no job owns the Workload yet, so that no claim can name it. */
  lacksJob: boolean
  /** The name of the MultiKueueConfig; undefined if the AdmissionCheck names none. */
  config: string | undefined
  /** Its clusters, in its order; none if it does not exist. */
  workers: readonly WorkerCluster[]
  /** The decisions on the jobs of the Workload, whose policy allows the locations of the workers. */
  placements: readonly BindingDecision[]
  /** The present nomination. */
  nominated: readonly string[]
  /** The ms for which MultiKueue could copy the Workload: since the reservation of quota, and since all other checks are Ready. */
  waitedMs: number
  /** The ms after which the next tier is nominated too. */
  roundMs: number
}

export interface NominationDecision {
  /** The names of MultiKueueClusters, the most preferred first; none while the Workload is on hold. */
  clusters: readonly string[]
  /** The reason, as a sentence. */
  message: string
  /** The ms until the next tier is nominated; absent if there is none. */
  requeueAfterMs?: number
}

/** Returns the placement for which the jobs of a Workload are decided: one of the workers. */
export function placementOfWorkers(workers: readonly WorkerCluster[]): Placement {
  return {
    clusterAffinity: { clusterNames: sortedUnique(workers.flatMap(({ location }) => location ?? [])) },
    spreadConstraints: [{ spreadByField: 'cluster', minGroups: 1, maxGroups: 1 }],
  }
}

/**
 * Nominates the clusters of the first tier at once, and one tier more after each round. MultiKueue copies a Workload to all nominated clusters,
 * and the first one that admits it gets it: an order alone would prefer nothing. A nomination is taken back only from a cluster that may not
 * have the Workload any more. Without the knowledge of all claims, the present nomination stays. It also stays without a MultiKueueConfig:
 * Kueue copies and deletes nothing then. When the config is back, the copies still have their places in the queues of the workers. The same is true
 * of one worker without its MultiKueueCluster, whose name in DataSources is not known.
 */
export function decideNomination(input: NominationInput): NominationDecision {
  const { unknown, lacksJob, config, workers, placements, nominated } = input
  if (unknown !== undefined) return decision(nominated, [unknown])
  if (lacksJob) return decision([], [NO_JOB])
  if (config === undefined) return decision(nominated, ['its AdmissionCheck names no MultiKueueConfig'])
  if (workers.length === 0)
    return decision(nominated, [`MultiKueueConfig ${config} does not exist, or names no cluster`])
  const absent = workers.flatMap(({ name, location }) => (location === undefined ? [name] : []))
  const kept = absent.filter((name) => nominated.includes(name))
  const held = placements.filter(({ state }) => state === 'OnHold')
  const tiers = held.length > 0 ? [] : workerTiers(workers, placements)
  if (tiers.length > 0) return nominate(tiers, kept, input)
  if (kept.length > 0 || absent.length === workers.length)
    return decision(kept, [`MultiKueueCluster ${listNames(absent, ABSENT_SHOWN)} does not exist`])
  if (held.length > 0) return decision([], held.map(heldMessage(config)))
  return decision([], [`no cluster of MultiKueueConfig ${config} is allowed for all of its jobs`])
}

const ABSENT_SHOWN = 3

/** @param kept the nominated workers without a MultiKueueCluster */
function nominate(tiers: readonly string[][], kept: readonly string[], input: NominationInput): NominationDecision {
  const { placements, nominated, waitedMs, roundMs } = input
  const rounds = 1 + Math.max(0, Math.floor(waitedMs / roundMs))
  const open = new Set([...tiers.slice(0, rounds).flat(), ...nominated])
  const clusters = [...kept, ...tiers.flat().filter((name) => open.has(name))]
  const located = placements.map(({ message }) => message).filter((message) => message !== '')
  return defined({
    ...decision(clusters, located.length > 0 ? located : ['no claim names data for it']),
    requeueAfterMs: rounds < tiers.length ? rounds * roundMs - waitedMs : undefined,
  })
}

/** The names of the workers by preference, in the order of the config within a tier. A Workload with several jobs counts by its worst tier. */
function workerTiers(workers: readonly WorkerCluster[], placements: readonly BindingDecision[]): string[][] {
  const ranksOfJobs = placements.map(rankByAffinity)
  const ranked = workers.flatMap(({ name, location }) => {
    if (location === undefined) return []
    const ranks = ranksOfJobs.flatMap((of) => of(location) ?? [])
    return ranks.length < placements.length ? [] : [{ name, rank: Math.max(0, ...ranks) }]
  })
  const tiers = [...new Set(ranked.map(({ rank }) => rank))].sort((a, b) => a - b)
  return tiers.map((tier) => ranked.filter(({ rank }) => rank === tier).map(({ name }) => name))
}

/** Returns the index of the first affinity that allows a cluster; undefined if none does. */
function rankByAffinity({ binding }: BindingDecision): (location: string) => number | undefined {
  const ranks = new Map<string, number>()
  affinityTerms(effectiveAffinity(binding.spec.placement), false).forEach(({ clusterNames = [] }, i) => {
    for (const name of clusterNames) if (!ranks.has(name)) ranks.set(name, i)
  })
  return (location) => ranks.get(location)
}

/** Names the MultiKueueConfig to which the sentence refers as the policy. */
function heldMessage(config: string): (decision: BindingDecision) => string {
  return ({ message, decided }) =>
    decided?.hold?.reason === 'Unsatisfiable' ? `${message}; the policy is MultiKueueConfig ${config}` : message
}

function decision(clusters: readonly string[], messages: readonly string[]): NominationDecision {
  return { clusters: clusters.slice(0, MAX_NOMINATED_CLUSTERS), message: joinMessages(messages) }
}
