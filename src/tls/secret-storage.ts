/** Stores certificates in one Secret, which all replicas share. The `resourceVersion` detects concurrent writes. */
import { secrets } from '../api/dependencies.ts'
import type { K8sObject, ResourceType } from '../api/meta.ts'
import { without } from '../base/json.ts'
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

/** The fields of a Secret with certificates; `data` is base64. */
export interface CertificateSecret extends K8sObject {
  type?: string
  data?: Record<string, string>
}

export interface SecretStorageInput {
  store: Pick<ObjectStore, 'read' | 'create' | 'update'>
  namespace: string
  name: string
}

const SECRET: ResourceType<CertificateSecret> = secrets

/**
 * Opens a storage in the Secret `namespace/name`. It needs the rights `get`, `create` and `update`; if the Secret exists, `get` and
 * `update` of its name are enough. Other keys of the Secret stay.
 */
export function openSecretStorage(input: SecretStorageInput): CertificateStorage {
  const { store, namespace, name } = input
  const place: StoragePlace = {
    name: `Secret ${namespace}/${name}`,
    remedy:
      'restore the Secret, or delete it and restart; Lodestone then creates a new CA, which callers trust when the ' +
      'webhook registration has it',
  }
  return {
    async read() {
      return decodeSecret(await store.read(SECRET, namespace, name), place)
    },
    async write(next, previous) {
      const secret = await store.read(SECRET, namespace, name)
      if (!sameCertificates(decodeSecret(secret, place), previous)) return false
      const data = { ...without(secret?.data ?? {}, ...STORED_FILES), ...encodeSecret(next) }
      try {
        if (secret === undefined) {
          const metadata = { namespace, name }
          await store.create(SECRET, { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', data })
        } else {
          await store.update(SECRET, { ...secret, data })
        }
        return true
      } catch (error) {
        // A conflict is not a failure: the certificates of the other replica are as good.
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
