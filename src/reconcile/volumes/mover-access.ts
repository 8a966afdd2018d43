/** Gives movers what they need in their namespace: a ServiceAccount with the right to write Events, and a copy of their credentials. */
import { secrets } from '../../api/dependencies.ts'
import { objectKey, splitObjectKey } from '../../api/meta.ts'
import { type Pod, pods } from '../../api/pod.ts'
import {
  copyOfSecret,
  credentialsOf,
  moverAccess,
  type Secret,
  secretFor,
  userAccountAccess,
} from '../../core/volume-manager/mover/credentials.ts'
import type { VolumeSettings } from '../../core/volume-manager/rules/settings.ts'
import { ConflictError, type ObjectStore } from '../../store/store.ts'
import { applyWrite } from '../apply.ts'

export interface MoverAccess {
  /** Creates the missing objects. For each ServiceAccount, it reads from the API server once in ten minutes. */
  grant(namespace: string, serviceAccount: string, context: AccessContext): Promise<void>
  /** Does the same for the ServiceAccount of users that a mover has; without effect for that of the configuration. */
  grantUsers(mover: Pod, settings: VolumeSettings['movers'], context: AccessContext): Promise<void>
  /** Makes the next `grant` read again: the ServiceAccount may have been deleted, for example with its namespace. */
  forget(namespace: string, serviceAccount: string): void
  /** Forgets what was granted in a namespace that was deleted. */
  forgetNamespace(namespace: string): void
}

interface AccessContext {
  store: ObjectStore
  now: number
}

/**
 * How long the objects count as present. Another client may delete a RoleBinding, without which the API server accepts the Pod. But the mover can
 * report nothing then, and is stopped as one that has stalled.
 */
const PRESENT_MS = 600_000

export function openMoverAccess(): MoverAccess {
  /** When the objects were last read, by `namespace/name` of the ServiceAccount. */
  const granted = new Map<string, number>()

  async function grantOnce(
    namespace: string,
    serviceAccount: string,
    { store, now }: AccessContext,
    objectsFor: typeof moverAccess,
  ): Promise<void> {
    const key = objectKey(namespace, serviceAccount)
    const age = now - (granted.get(key) ?? Number.NEGATIVE_INFINITY)
    // A time in the future is from before the clock was set back.
    if (age >= 0 && age < PRESENT_MS) return
    for (const { type, object } of objectsFor(namespace, serviceAccount)) {
      if (await store.read(type, namespace, object.metadata.name ?? '')) continue
      try {
        await applyWrite(store, { kind: 'create', type, object })
      } catch (error) {
        // Another replica created it.
        if (!(error instanceof ConflictError)) throw error
      }
    }
    granted.set(key, now)
  }

  return {
    grant: (namespace, serviceAccount, context) => grantOnce(namespace, serviceAccount, context, moverAccess),
    async grantUsers({ metadata, spec }, settings, context) {
      const { serviceAccountName: name } = spec
      // In the namespace of all movers, administrators bind the accounts that they allow.
      if (name === undefined || name === settings.serviceAccountName || settings.namespace !== undefined) return
      await grantOnce(metadata.namespace ?? '', name, context, userAccountAccess)
    },
    forget: (namespace, serviceAccount) => void granted.delete(objectKey(namespace, serviceAccount)),
    forgetNamespace(namespace) {
      for (const key of granted.keys()) if (splitObjectKey(key).namespace === namespace) granted.delete(key)
    },
  }
}

/** The values of a copy; a refusal if the Secret cannot be used; undefined for a mover that needs no copy. */
export type MoverCredentials = { data: Record<string, string> } | { refusal: string } | undefined

/** Reads the Secret of a mover that is about to be created. Secrets are never cached or listed. */
export async function readCredentials(pod: Pod, store: ObjectStore): Promise<MoverCredentials> {
  const source = credentialsOf(pod)
  if (!source) return undefined
  const secret = (await store.read(secrets, source.namespace, source.name)) as Secret | undefined
  return copyOfSecret(pod, secret)
}

/**
 * Tries to create the copy before its Pod exists, so that a ResourceQuota or a policy for Secrets leaves no Pod behind that cannot start.
 * Throws as the creation would.
 */
export async function tryCopy(pod: Pod, data: Record<string, string>, store: ObjectStore): Promise<void> {
  await applyWrite(store, { kind: 'create', type: secrets, object: secretFor(pod, data), isDryRun: true })
}

/** Creates the copy. If that fails, the Pod does not start, and the mover is retried with another Pod. */
export async function createCopy(pod: Pod, data: Record<string, string>, store: ObjectStore): Promise<void> {
  const { namespace, name = '' } = pod.metadata
  const created = await store.read(pods, namespace, name)
  if (created) await applyWrite(store, { kind: 'create', type: secrets, object: secretFor(created, data) })
}
