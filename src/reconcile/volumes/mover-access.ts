/** Creates the ServiceAccount of movers with the right to write Events, once in each namespace that has movers. */
import { objectKey, splitObjectKey } from '../../api/meta.ts'
import { moverAccess } from '../../core/volume-manager/mover/access.ts'
import { ConflictError, type ObjectStore } from '../../store/store.ts'
import { applyWrite } from '../apply.ts'

export interface MoverAccess {
  /** Creates the missing objects. Only the first call for a ServiceAccount reads from the API server. */
  grant(namespace: string, serviceAccount: string, store: ObjectStore): Promise<void>
  /** Makes the next `grant` read again: the ServiceAccount may have been deleted, for example with its namespace. */
  forget(namespace: string, serviceAccount: string): void
  /** Forgets what was granted in a namespace that was deleted. */
  forgetNamespace(namespace: string): void
}

export function openMoverAccess(): MoverAccess {
  /** `namespace/name` of each ServiceAccount. */
  const granted = new Set<string>()
  return {
    async grant(namespace, serviceAccount, store) {
      const key = objectKey(namespace, serviceAccount)
      if (granted.has(key)) return
      for (const { type, object } of moverAccess(namespace, serviceAccount)) {
        if (await store.read(type, namespace, object.metadata.name ?? '')) continue
        try {
          await applyWrite(store, { kind: 'create', type, object })
        } catch (error) {
          // Another replica created it.
          if (!(error instanceof ConflictError)) throw error
        }
      }
      granted.add(key)
    },
    forget: (namespace, serviceAccount) => void granted.delete(objectKey(namespace, serviceAccount)),
    forgetNamespace(namespace) {
      for (const key of granted) if (splitObjectKey(key).namespace === namespace) granted.delete(key)
    },
  }
}
