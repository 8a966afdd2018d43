/** Sees to it that movers have a ServiceAccount that may write Events: made once in each namespace that has any. */
import { objectKey } from '../api/meta.ts'
import { moverAccess } from '../core/volume-manager/mover/access.ts'
import { ConflictError, type ObjectStore } from '../store/store.ts'

export interface MoverAccess {
  /** Makes what is missing; asks only the first time. */
  grant(namespace: string, serviceAccount: string, store: ObjectStore): Promise<void>
  /** It may be gone, with its namespace for one: the next one asks again. */
  doubt(namespace: string, serviceAccount: string): void
}

export function openMoverAccess(): MoverAccess {
  /** By `namespace/name` of the ServiceAccount. */
  const granted = new Set<string>()
  return {
    async grant(namespace, serviceAccount, store) {
      const key = objectKey(namespace, serviceAccount)
      if (granted.has(key)) return
      for (const { type, object } of moverAccess(namespace, serviceAccount)) {
        if (await store.read(type, namespace, object.metadata.name ?? '')) continue
        try {
          await store.create(type, object)
        } catch (error) {
          if (!(error instanceof ConflictError)) throw error
        }
      }
      granted.add(key)
    },
    doubt: (namespace, serviceAccount) => void granted.delete(objectKey(namespace, serviceAccount)),
  }
}
