/** A source of objects for snapshots: the kept form of a fleet, made while it is read. */
import type { K8sObject, ResourceType } from '../../src/api/meta.ts'
import { newestRules } from '../../src/core/karmada-rules.ts'
import { DEFAULT_TIMING } from '../../src/core/resource-binding/timing.ts'
import { SHIPPED_KINDS } from '../../src/core/workload-kinds/kinds.ts'
import { snapshotKinds } from '../../src/store/snapshot/snapshot-kinds.ts'
import type { SnapshotContent, SnapshotSettings } from '../../src/store/snapshot/write-snapshot.ts'
import { NOW } from '../builders.ts'
import type { Fleet } from './fleet.ts'

export const SETTINGS: SnapshotSettings = {
  takenAt: new Date(NOW).toISOString(),
  anonymous: false,
  karmadaRules: newestRules,
  clusterScopedClaims: 'forbidden',
  timing: DEFAULT_TIMING,
  workloadKinds: [],
}

/** @param skips the kinds that are left out, such as the workloads, of which a hub without volumes needs none */
export function fleetSource(fleet: Fleet, skips: readonly string[] = []): SnapshotContent['store'] {
  const kinds = snapshotKinds(SHIPPED_KINDS)
  const keepers = new Map(kinds.map(({ type, keep }) => [type.kind, keep as (raw: K8sObject) => K8sObject]))
  return {
    kinds: () => kinds.map(({ type }) => type),
    list: <T extends K8sObject>(type: ResourceType<T>) => {
      const keep = keepers.get(type.kind)
      const raw = skips.includes(type.kind) ? [] : fleet.ofType(type)
      return (function* () {
        for (const { object } of raw) if (keep) yield keep(object) as T
      })()
    },
    size: () => 0,
    serves: () => true,
    unavailable: () => [],
  }
}
