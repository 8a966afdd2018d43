/** Gives movers in another namespace their credentials: reads the Secret of the tenant, and creates a copy that the mover owns. */
import { secrets } from '../../api/dependencies.ts'
import { type Pod, pods } from '../../api/pod.ts'
import { copyOfSecret, credentialsOf, type Secret, secretFor } from '../../core/volume-manager/mover/credentials.ts'
import type { ObjectStore } from '../../store/store.ts'
import { applyWrite } from '../apply.ts'

/** The values of a copy; a refusal if the Secret cannot be used; undefined for a mover that needs no copy. */
export type MoverCredentials = { data: Record<string, string> } | { refusal: string } | undefined

/** Reads the Secret of a mover that is about to be created. Secrets are never cached or listed. */
export async function readCredentials(pod: Pod, store: ObjectStore): Promise<MoverCredentials> {
  const source = credentialsOf(pod)
  if (!source) return undefined
  const secret = (await store.read(secrets, source.namespace, source.name)) as Secret | undefined
  return copyOfSecret(pod, secret)
}

/** Creates the copy. If that fails, the Pod does not start, and the mover is retried with another Pod. */
export async function createCopy(pod: Pod, data: Record<string, string>, store: ObjectStore): Promise<void> {
  const { namespace, name = '' } = pod.metadata
  const created = await store.read(pods, namespace, name)
  if (created) await applyWrite(store, { kind: 'create', type: secrets, object: secretFor(created, data) })
}
