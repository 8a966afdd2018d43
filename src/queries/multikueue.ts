/** Gathers, for a Workload of MultiKueue, the decisions on its jobs and its worker clusters, and finds the Workloads that a change concerns. */

import type { WorkloadReference } from '../api/data-source-claim.ts'
import type { ResourceBinding } from '../api/karmada.ts'
import { admissionChecks, type KueueWorkload, multiKueueClusters, multiKueueConfigs } from '../api/kueue.ts'
import { CLUSTER_NAME_ANNOTATION } from '../api/lodestone.ts'
import { defined, sortedUnique } from '../base/json.ts'
import { onPresentClock } from '../base/time/clock-jumps.ts'
import { earliest } from '../base/time/earliest.ts'
import { type NominationInput, placementOfWorkers, type WorkerCluster } from '../core/kueue/decide-nomination.ts'
import {
  checkAwaitingNomination,
  lacksJob,
  nominatedClusters,
  reservedSince,
  timesBeforeCopies,
} from '../core/kueue/workload-state.ts'
import { decideBinding } from '../core/resource-binding/decide.ts'
import type { BindingInput } from '../core/resource-binding/input.ts'
import { requeueAfter } from '../core/resource-binding/plan.ts'
import type { ObjectStore, StoreChange } from '../store/store.ts'
import { type BindingContext, gatherBindingInput } from './binding.ts'
import {
  bareBinding,
  isOfMultiKueue,
  jobsAround,
  whyDataUnknown,
  whyJobUnknown,
  withHold,
  workloadsConcerned,
  workloadsWithCheck,
} from './kueue.ts'

/** The input of the decision on a nomination, and the ms until it changes by time alone. */
export interface GatheredNomination {
  input: NominationInput
  /** RFC 3339: when Kueue reserved quota. */
  since: string
  requeueAfterMs?: number
}

/** Gathers the input of the decision on a nomination; undefined if MultiKueue does not wait for one. */
export function gatherNomination(
  workload: KueueWorkload,
  context: BindingContext,
  roundMs: number,
): GatheredNomination | undefined {
  const { store } = context
  const check = checkAwaitingNomination(workload, (name) => isOfMultiKueue(name, store))
  const since = reservedSince(workload)
  if (!check || since === undefined) return undefined
  const config = multiKueueConfigName(check.name, store)
  const workers = config === undefined ? [] : listWorkers(config, store)
  const inputs = jobsAround(workload, store).map((job) => placementInput(job, workers, since, context))
  const decided = inputs.map((input) => ({ input, decision: decideBinding(input) }))
  return defined({
    input: {
      unknown: whyDataUnknown(store) ?? whyJobUnknown(workload, store),
      lacksJob: lacksJob(workload),
      config,
      workers,
      placements: decided.map(({ decision }) => decision),
      nominated: nominatedClusters(workload),
      waitedMs: waitForCopiesMs(timesBeforeCopies(workload, check.name), context),
      roundMs,
    },
    since,
    requeueAfterMs: earliest(...decided.map(({ input, decision }) => requeueAfter(decision.binding, input))),
  })
}

/** The ms for which the nominated clusters could have had the Workload. A tier that no cluster could take has had no chance. */
function waitForCopiesMs(times: readonly string[] | undefined, { now, jumps }: BindingContext): number {
  return times === undefined ? 0 : now - Math.max(...times.map((time) => onPresentClock(Date.parse(time), jumps)))
}

/** Returns the keys of the Workloads whose nomination a change concerns, as `workloadsConcerned` does. */
export function nominationsConcerned(change: StoreChange, store: ObjectStore): Iterable<string | undefined> {
  const { type, before, after } = change
  const names = sortedUnique([before, after].flatMap((object) => object?.metadata.name ?? []))
  switch (type.kind) {
    case multiKueueConfigs.kind:
      return names.flatMap((config) => workloadsOfConfig(config, store))
    case multiKueueClusters.kind:
      return [...store.list(multiKueueConfigs)]
        .filter(({ spec }) => spec.clusters.some((cluster) => names.includes(cluster)))
        .flatMap(({ metadata }) => workloadsOfConfig(metadata.name ?? '', store))
    default:
      return workloadsConcerned(change, store)
  }
}

function workloadsOfConfig(config: string, store: ObjectStore): string[] {
  return [...store.list(admissionChecks)]
    .flatMap(({ metadata }) => metadata.name ?? [])
    .filter((check) => isOfMultiKueue(check, store) && multiKueueConfigName(check, store) === config)
    .flatMap((check) => workloadsWithCheck(check, store))
}

/** The name of the MultiKueueConfig of a check; undefined if its parameters are of another kind, which Kueue rejects. */
function multiKueueConfigName(check: string, store: ObjectStore): string | undefined {
  const { apiGroup, kind, name } = store.get(admissionChecks, undefined, check)?.spec.parameters ?? {}
  return apiGroup === multiKueueConfigs.group && kind === multiKueueConfigs.kind ? name : undefined
}

function listWorkers(config: string, store: ObjectStore): WorkerCluster[] {
  const { clusters } = store.get(multiKueueConfigs, undefined, config)?.spec ?? { clusters: [] }
  return clusters.map((name) => {
    const cluster = store.get(multiKueueClusters, undefined, name)
    return { name, location: cluster && (cluster.metadata.annotations?.[CLUSTER_NAME_ANNOTATION] || name) }
  })
}

/**
 * The input for a binding whose policy allows the worker clusters, and one of them for each Workload. Clusters of Karmada do not count:
 * MultiKueue does not ask Karmada.
 */
function placementInput(
  job: WorkloadReference,
  workers: readonly WorkerCluster[],
  since: string,
  context: BindingContext,
): BindingInput {
  const bare = bareBinding(job)
  const binding: ResourceBinding = { ...bare, spec: { ...bare.spec, placement: placementOfWorkers(workers) } }
  const input = { ...gatherBindingInput(binding, binding, context, { volumes: [] }), clusters: undefined }
  return input.claims.length > 0 ? withHold(input, since) : input
}
