/** Finds the bindings that are attached to the binding of a workload, and the reverse, by our labels. */
import { clusterResourceBindings, type ResourceBinding, resourceBindings } from '../api/karmada.ts'
import { DEPENDED_BY_LABEL_PREFIX } from '../api/lodestone.ts'
import { nameOfObject } from '../api/meta.ts'
import { persistentVolumeClaims } from '../api/persistent-volume.ts'
import { sortedUnique } from '../base/json.ts'
import { snapshotKey } from '../core/dependencies/attached-binding.ts'
import { ANY_REFERRER, dependedByLabel, karmadaDependedByLabel } from '../core/dependencies/names.ts'
import type { Workload } from '../core/dependencies/workload.ts'
import { occupiedClusters, targetClusters } from '../core/placement/binding-state.ts'
import type { ObjectStore } from '../store/store.ts'
import { bindingNamed, bindingsByIndex, readObjectBinding } from './workload.ts'

/** Returns the cluster-scoped bindings for which a binding has our labels: the values of the labels are their ids. */
export function labeledClusterBindings({ metadata }: ResourceBinding, store: ObjectStore): ResourceBinding[] {
  return Object.entries(metadata.labels ?? {}).flatMap(([label, id]) =>
    label.startsWith(DEPENDED_BY_LABEL_PREFIX) ? store.byIndex(clusterResourceBindings, 'id', id) : [],
  )
}

/** Returns the bindings with our label for this binding. */
export function attachedTo(binding: ResourceBinding, store: ObjectStore): ResourceBinding[] {
  return bindingsByIndex('dependedBy', dependedByLabel(nameOfObject(binding)), store)
}

/**
 * Returns the names of the PersistentVolumeClaims that Karmada deletes in a cluster that the workload of a binding leaves. They are attached to the
 * binding, by Lodestone or by Karmada, and no policy of their own keeps them where the workload runs.
 */
export function volumeClaimsTakenAlong(binding: ResourceBinding, store: ObjectStore): string[] {
  const attached = referrerLabels(binding).flatMap((label) => store.byIndex(resourceBindings, 'volumeClaimOf', label))
  return namesTakenAlong(attached, binding)
}

/**
 * As `volumeClaimsTakenAlong`, for one binding of a store that need not cache them: it reads those of the PersistentVolumeClaims that the workload
 * names.
 */
export async function readVolumeClaimsTakenAlong(
  binding: ResourceBinding,
  { metadata: { namespace = '' }, dependencies }: Workload,
  store: ObjectStore,
): Promise<string[]> {
  if (!binding.spec.propagateDeps) return []
  const named = dependencies.references.filter(({ kind }) => kind === persistentVolumeClaims.kind)
  const read = await Promise.all(
    named.map(({ name = '', ...reference }) => readObjectBinding({ ...reference, name, namespace }, store)),
  )
  const labels = referrerLabels(binding)
  const attached = read.flatMap((claim) => {
    const { labels: own = {} } = claim?.metadata ?? {}
    return claim && labels.some((label) => Object.hasOwn(own, label)) ? [claim] : []
  })
  return namesTakenAlong(attached, binding)
}

/** The labels of bindings that are attached to a binding, by Lodestone and by Karmada. */
function referrerLabels(binding: ResourceBinding): string[] {
  const referrer = nameOfObject(binding)
  return [dependedByLabel(referrer), karmadaDependedByLabel(referrer)]
}

function namesTakenAlong(claims: readonly ResourceBinding[], binding: ResourceBinding): string[] {
  return sortedUnique(claims.filter((claim) => isTakenAlong(claim, binding)).map(({ spec }) => spec.resource.name))
}

/**
 * Yields the bindings whose workloads take a PersistentVolumeClaim along, some more than once.
 *
 * @param namespace only the claims of this namespace; undefined for those of all
 */
export function* bindingsWithVolumeClaims(
  store: ObjectStore,
  namespace: string | undefined,
): Generator<ResourceBinding, void, undefined> {
  for (const claim of store.byIndex(resourceBindings, 'volumeClaimOf', namespace ?? ANY_REFERRER)) {
    const referrers = (claim.spec.requiredBy ?? []).flatMap((snapshot) => bindingNamed(snapshot, store) ?? [])
    for (const binding of [...referrers, ...labeledClusterBindings(claim, store)]) {
      if (isTakenAlong(claim, binding)) yield binding
    }
  }
}

/** The labels and referrers of a binding may be forged: those of another namespace do not count. A cluster-scoped workload has no namespace. */
function isTakenAlong(claim: ResourceBinding, { metadata: { namespace }, spec }: ResourceBinding): boolean {
  const isForeign = namespace !== undefined && claim.metadata.namespace !== namespace
  if (isForeign || claim.spec.preserveResourcesOnDeletion) return false
  const own = targetClusters(claim.spec)
  return occupiedClusters(spec).some((name) => !own.includes(name))
}

/** Returns the keys of the bindings from which a PersistentVolumeClaim was detached by a change of its binding. */
export function detachedFrom(before: ResourceBinding | undefined, after: ResourceBinding | undefined): string[] {
  if (before?.spec.resource.kind !== persistentVolumeClaims.kind) return []
  const keysOf = (binding: ResourceBinding | undefined) => (binding?.spec.requiredBy ?? []).map(snapshotKey)
  const left = new Set(keysOf(after))
  return keysOf(before).filter((key) => !left.has(key))
}
