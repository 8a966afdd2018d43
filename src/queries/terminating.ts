/** Finds out whether the namespace of a VolumeManager is being deleted. */
import type { K8sObject } from '../api/meta.ts'
import { namespaces } from '../api/namespace.ts'
import type { VolumeManager } from '../api/volume-manager.ts'
import { defined } from '../base/json.ts'
import type { TerminatingNamespace } from '../core/volume-manager/input.ts'
import { moverNamespace, type VolumeSettings } from '../core/volume-manager/rules/settings.ts'
import type { ObjectStore } from '../store/store.ts'

/**
 * Returns the namespace of a VolumeManager if it is being deleted.
 *
 * @param isRefused whether the API server rejected a mover for this reason: the cache may be behind
 */
export function terminatingNamespace(
  { metadata }: VolumeManager,
  isRefused: boolean,
  { store, settings }: { store: ObjectStore; settings: Pick<VolumeSettings['movers'], 'namespace'> },
): TerminatingNamespace | undefined {
  const { namespace = '' } = metadata
  const isBeside = moverNamespace({ metadata }, settings) === namespace
  const cached = store.get(namespaces, undefined, namespace)
  if (!cached?.metadata.deletionTimestamp && !(isBeside && isRefused)) return undefined
  const refusal = `namespace ${namespace} is being deleted, and takes no new movers`
  return defined({ namespace: cached ?? named(namespace), refusal: isBeside ? refusal : undefined })
}

function named(name: string): K8sObject {
  return { apiVersion: 'v1', kind: namespaces.kind, metadata: { name } }
}
