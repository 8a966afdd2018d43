/** Keeps certificates in one Secret, which all replicas share; `resourceVersion` lets exactly one of them win a race. */
import type { K8sObject, ResourceType } from '../api/meta.ts'
import { ConflictError, NotFoundError, type ObjectStore } from '../store/store.ts'
import type { StoragePlace } from './pem-files.ts'
import type { CertificateStorage, StoredCertificates } from './storage.ts'
import {
  decodeStoredFiles,
  encodeStoredFiles,
  STORED_FILES,
  type StoredFiles,
  sameCertificates,
} from './stored-files.ts'

/** A Secret as far as certificates are concerned; `data` is base64. */
export interface CertificateSecret extends K8sObject {
  type?: string
  data?: Record<string, string>
}

export interface SecretStorageInput {
  store: Pick<ObjectStore, 'read' | 'create' | 'update'>
  namespace: string
  name: string
}

const SECRET: ResourceType<CertificateSecret> = {
  group: '',
  version: 'v1',
  kind: 'Secret',
  plural: 'secrets',
  namespaced: true,
}

/**
 * A storage in the Secret `namespace/name`. It needs `get`, `create` and `update`; where an empty Secret of that name was
 * created beforehand, `get` and `update` of this one name are enough. Keys of the Secret that are not ours stay.
 */
export function openSecretStorage(input: SecretStorageInput): CertificateStorage {
  const { store, namespace, name } = input
  const place: StoragePlace = {
    name: `Secret ${namespace}/${name}`,
    remedy:
      'Restore the Secret, or delete it and restart Lodestone: a new CA is made, and callers trust it once the webhook ' +
      'registration carries it.',
  }
  return {
    async read() {
      return decodeSecret(await store.read(SECRET, namespace, name), place)
    },
    async write(next, previous) {
      const secret = await store.read(SECRET, namespace, name)
      if (!sameCertificates(decodeSecret(secret, place), previous)) return false
      const data = { ...withoutOurs(secret?.data), ...encodeSecret(next) }
      try {
        if (secret === undefined) {
          const metadata = { namespace, name }
          await store.create(SECRET, { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', data })
        } else {
          await store.update(SECRET, { ...secret, data })
        }
        return true
      } catch (error) {
        // Losing the race is no failure: the other replica's certificates are as good as ours.
        if (error instanceof ConflictError || error instanceof NotFoundError) return false
        throw error
      }
    },
  }
}

function decodeSecret(secret: CertificateSecret | undefined, place: StoragePlace): StoredCertificates | undefined {
  const files: StoredFiles = {}
  for (const name of STORED_FILES) {
    const value = secret?.data?.[name]
    if (value !== undefined) files[name] = Buffer.from(value, 'base64').toString('utf8')
  }
  return decodeStoredFiles(files, place)
}

function encodeSecret(certificates: StoredCertificates): Record<string, string> {
  const entries = Object.entries(encodeStoredFiles(certificates))
  return Object.fromEntries(entries.map(([name, text]) => [name, Buffer.from(text, 'utf8').toString('base64')]))
}

function withoutOurs(data: Record<string, string> = {}): Record<string, string> {
  const ours: readonly string[] = STORED_FILES
  return Object.fromEntries(Object.entries(data).filter(([name]) => !ours.includes(name)))
}
