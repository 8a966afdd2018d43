/** Finds the bindings that are attached to the binding of a workload, and the reverse, by our labels. */
import { clusterResourceBindings, type ResourceBinding, resourceBindings } from '../api/karmada.ts'
import { DEPENDED_BY_LABEL_PREFIX } from '../api/lodestone.ts'
import { nameOfObject } from '../api/meta.ts'
import { dependedByLabel } from '../core/dependencies/names.ts'
import type { ObjectStore } from '../store/store.ts'

/** Returns the cluster-scoped bindings for which a binding has our labels: the values of the labels are their ids. */
export function labeledClusterBindings({ metadata }: ResourceBinding, store: ObjectStore): ResourceBinding[] {
  return Object.entries(metadata.labels ?? {}).flatMap(([label, id]) =>
    label.startsWith(DEPENDED_BY_LABEL_PREFIX) ? store.byIndex(clusterResourceBindings, 'id', id) : [],
  )
}

/** Returns the bindings with our label for this binding. */
export function attachedTo(binding: ResourceBinding, store: ObjectStore): ResourceBinding[] {
  const label = dependedByLabel(nameOfObject(binding))
  return [resourceBindings, clusterResourceBindings].flatMap((type) => [...store.byIndex(type, 'dependedBy', label)])
}
