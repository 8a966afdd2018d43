/**
 * Measures claims, holds, sources and volumes for the metrics. Holds and VolumeManagers are read at each change, and a scrape adds them up: a
 * hub may have a hundred thousand bindings, and 10,000 VolumeManagers.
 */
import { dataSources } from '../../api/data-source.ts'
import { dataSourceClaims } from '../../api/data-source-claim.ts'
import { SOURCE_FINALIZER } from '../../api/lodestone.ts'
import { keyOfObject } from '../../api/meta.ts'
import { type VolumeManager, volumeManagers } from '../../api/volume-manager.ts'
import { MEASURED_TASKS } from '../../core/volume-manager/mover/measured-mover.ts'
import { countTotals, REPLICA_STATES, type VolumeTotals } from '../../core/volume-manager/status/totals.ts'
import type { ObjectStore } from '../../store/store.ts'
import type { DomainMetrics } from '../../telemetry/domain-metrics.ts'
import { type HoldMeterInput, openHoldMeter } from './hold-meter.ts'

/** Opens the measurement on a synced store. */
export function openDomainMetrics(input: HoldMeterInput): { read: () => DomainMetrics; stop: () => void } {
  const { store, now } = input
  const holds = openHoldMeter(input)
  const volumes = openVolumeMeter(store, now)
  return {
    read: () => ({
      claims: claimsByPhase(store),
      holds: holds.read(),
      sourceAges: oldest(store, now()),
      ...volumes.read(),
    }),
    stop() {
      holds.stop()
      volumes.stop()
    },
  }
}

function claimsByPhase(store: ObjectStore): Record<string, number> {
  const counts: Record<string, number> = { Pending: 0, Bound: 0, Failed: 0 }
  for (const { status } of store.list(dataSourceClaims)) {
    const phase = status?.phase ?? 'Pending'
    counts[phase] = (counts[phase] ?? 0) + 1
  }
  return counts
}

/** The ages of the oldest locations. A source without a claim, and so without our finalizer, is not queried: it stays as old as it is. */
function oldest(store: ObjectStore, now: number): Record<string, number> {
  const ages: Record<string, number> = {}
  for (const { metadata, spec, status } of store.list(dataSources)) {
    if (!metadata.finalizers?.includes(SOURCE_FINALIZER)) continue
    const confirmed = Date.parse(status?.lastResolvedTime ?? '')
    if (Number.isNaN(confirmed)) continue
    ages[spec.system] = Math.max(ages[spec.system] ?? 0, (now - confirmed) / 1000)
  }
  return ages
}

type VolumeMetrics = Pick<DomainMetrics, 'replicas' | 'moverQueue' | 'writeBackConflicts'>

/** Keeps the totals of each VolumeManager, and adds them up. Without the kind, there are none. */
function openVolumeMeter(store: ObjectStore, now: () => number): { read: () => VolumeMetrics; stop: () => void } {
  const totals = new Map<string, VolumeTotals>()
  const isCached = store.kinds().some(({ kind }) => kind === volumeManagers.kind)
  for (const manager of isCached ? store.list(volumeManagers) : [])
    totals.set(keyOfObject(manager), countTotals(manager))
  const stop = store.subscribe(({ type, before, after }) => {
    if (type.kind !== volumeManagers.kind) return
    if (after) totals.set(keyOfObject(after), countTotals(after as VolumeManager))
    else if (before) totals.delete(keyOfObject(before))
  })
  return { read: () => sumTotals(totals.values(), now()), stop }
}

function sumTotals(all: Iterable<VolumeTotals>, now: number): VolumeMetrics {
  const replicas: Record<string, number> = Object.fromEntries(REPLICA_STATES.map((state) => [state, 0]))
  const queue = MEASURED_TASKS.map((task) => ({ task, count: 0, since: Number.POSITIVE_INFINITY }))
  let writeBackConflicts = 0
  for (const totals of all) {
    for (const state in totals.replicas) {
      replicas[state] = (replicas[state] ?? 0) + (totals.replicas[state as keyof typeof totals.replicas] ?? 0)
    }
    for (const sum of queue) {
      const part = totals.queue[sum.task]
      if (!part) continue
      sum.count += part.count
      sum.since = Math.min(sum.since, part.since)
    }
    writeBackConflicts += totals.conflicts
  }
  const ageOf = (since: number) => (since === Number.POSITIVE_INFINITY ? 0 : Math.max(0, now - since) / 1000)
  return {
    replicas,
    moverQueue: Object.fromEntries(
      queue.map(({ task, count, since }) => [task, { count, oldestSeconds: ageOf(since) }]),
    ),
    writeBackConflicts,
  }
}
