/** Keeps a PersistentVolumeClaim where its workload ran, while the workload is in no cluster. */
import type { BindingSnapshot, ResourceBinding } from '../../api/karmada.ts'
import { persistentVolumeClaims } from '../../api/persistent-volume.ts'
import type { Outcome } from '../outcome.ts'
import { hasTarget } from '../placement/binding-state.ts'
import { snapshotKey } from './attached-binding.ts'

export interface VolumeClaimInput {
  /** An attached binding, as the requester sent it. */
  binding: ResourceBinding
  /** The stored binding; absent if the request creates it. */
  stored: ResourceBinding | undefined
  /** Whether Lodestone places the workload of a snapshot, or has made its dependencies follow. */
  isOurs(snapshot: BindingSnapshot): boolean
}

/**
 * Keeps the recorded clusters of each workload of ours that Karmada's distributor has found in no cluster. Otherwise Karmada would delete the
 * claim in the members, and with it what the workload has stored. The scheduler takes a workload out of all clusters when it is scaled to zero (v1.18.2,
 * pkg/scheduler/core/common.go, AssignReplicas). The distributor removes the whole entry if the workload needs the claim no more, or is deleted
 * (pkg/dependenciesdistributor/dependencies_distributor.go).
 */
export function keepVolumeClaim({ binding, stored, isOurs }: VolumeClaimInput): Outcome {
  if (binding.spec.resource.kind !== persistentVolumeClaims.kind) return { kind: 'allow' }
  const recorded = new Map((stored?.spec.requiredBy ?? []).map((entry) => [snapshotKey(entry), entry.clusters ?? []]))
  let isChanged = false
  const requiredBy = binding.spec.requiredBy?.map((entry) => {
    const clusters = recorded.get(snapshotKey(entry)) ?? []
    if (hasTarget(entry) || clusters.length === 0 || !isOurs(entry)) return entry
    isChanged = true
    return { ...entry, clusters }
  })
  if (!requiredBy || !isChanged) return { kind: 'allow' }
  const kept: ResourceBinding = { ...binding, spec: { ...binding.spec, requiredBy } }
  return { kind: 'patch', object: kept }
}
