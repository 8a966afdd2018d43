/**
 * Counts claims, holds and ages of sources for the metrics. Holds are counted at each change, since a hub may have a hundred thousand
 * bindings.
 */
import { dataSources } from '../../api/data-source.ts'
import { dataSourceClaims } from '../../api/data-source-claim.ts'
import { clusterResourceBindings, isBinding, type ResourceBinding, resourceBindings } from '../../api/karmada.ts'
import { keyOfObject } from '../../api/meta.ts'
import { readAnnotations } from '../../core/resource-binding/annotations.ts'
import type { ObjectStore } from '../../store/store.ts'
import type { DomainMetrics } from '../../telemetry/metrics.ts'

/** Opens the counters on a synced store. `now` returns ms since the epoch. */
export function openDomainMetrics(
  store: ObjectStore,
  now: () => number,
): { read: () => DomainMetrics; stop: () => void } {
  const onHold = new Set<string>()
  const update = (kind: string, binding: ResourceBinding | undefined, gone: ResourceBinding | undefined) => {
    const { metadata } = (binding ?? gone) as ResourceBinding
    const key = `${kind} ${keyOfObject({ metadata })}`
    const { hold } = readAnnotations(binding?.metadata.annotations)
    if (hold && !hold.released) onHold.add(key)
    else onHold.delete(key)
  }
  for (const type of [resourceBindings, clusterResourceBindings]) {
    for (const binding of store.list(type)) update(type.kind, binding, undefined)
  }
  const stop = store.subscribe(({ type, before, after }) => {
    if (!isBinding(type.kind)) return
    update(type.kind, after as ResourceBinding | undefined, before as ResourceBinding | undefined)
  })
  return { read: () => ({ claims: claimsByPhase(store), onHold: onHold.size, sourceAges: oldest(store, now()) }), stop }
}

function claimsByPhase(store: ObjectStore): Record<string, number> {
  const counts: Record<string, number> = { Pending: 0, Bound: 0, Failed: 0 }
  for (const { status } of store.list(dataSourceClaims)) {
    const phase = status?.phase ?? 'Pending'
    counts[phase] = (counts[phase] ?? 0) + 1
  }
  return counts
}

function oldest(store: ObjectStore, now: number): Record<string, number> {
  const ages: Record<string, number> = {}
  for (const { spec, status } of store.list(dataSources)) {
    const confirmed = Date.parse(status?.lastResolvedTime ?? '')
    if (Number.isNaN(confirmed)) continue
    ages[spec.system] = Math.max(ages[spec.system] ?? 0, (now - confirmed) / 1000)
  }
  return ages
}
