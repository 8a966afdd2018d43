/** Finds out whether the namespace of a VolumeManager is being deleted. */
import type { K8sObject } from '../api/meta.ts'
import { namespaces } from '../api/namespace.ts'
import type { VolumeManager } from '../api/volume-manager.ts'
import type { TerminatingNamespace } from '../core/volume-manager/input.ts'
import { moverNamespace, type VolumeSettings } from '../core/volume-manager/spec/settings.ts'
import type { ObjectStore } from '../store/store.ts'

/** The end of the message with which kube-apiserver rejects a new object (plugin/pkg/admission/namespace/lifecycle). */
const TERMINATING = /\bis being terminated\b/

/**
 * Returns the namespace of a VolumeManager if it is being deleted. The cache may be behind, so the API server's reason for the rejection of a
 * mover counts too.
 *
 * @param refusals why the API server rejected movers, by Pod name
 */
export function terminatingNamespace(
  { metadata }: VolumeManager,
  refusals: ReadonlyMap<string, string>,
  { store, settings }: { store: ObjectStore; settings: Pick<VolumeSettings['movers'], 'namespace'> },
): TerminatingNamespace | undefined {
  const { namespace = '' } = metadata
  const isBeside = moverNamespace({ metadata }, settings) === namespace
  const cached = store.get(namespaces, undefined, namespace)
  const isRefused = isBeside && [...refusals.values()].some((refusal) => TERMINATING.test(refusal))
  if (!cached?.metadata.deletionTimestamp && !isRefused) return undefined
  const refusal = `namespace ${namespace} is being deleted, and takes no new movers`
  return { namespace: cached ?? named(namespace), ...(isBeside && { refusal }) }
}

function named(name: string): K8sObject {
  return { apiVersion: 'v1', kind: namespaces.kind, metadata: { name } }
}
