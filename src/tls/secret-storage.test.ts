import { beforeAll, describe, expect, test } from 'vitest'
import type { K8sObject } from '../api/meta.ts'
import { ConflictError, MissingPrerequisiteError, NotFoundError } from '../store/store.ts'
import { type CertificateSecret, openSecretStorage, type SecretStorageInput } from './secret-storage.ts'
import { describeStorage, storedSamples } from './storage.suite.ts'
import type { StoredCertificates } from './storage.ts'

const KEY = { namespace: 'lodestone-system', name: 'lodestone-certificates' }

/** A Secret on a server with the write rules of the API server. */
class SecretServer {
  secret: CertificateSecret | undefined
  #version = 0

  readonly store: SecretStorageInput['store'] = {
    read: async <T extends K8sObject>() => this.secret as T | undefined,
    create: async (_type, object) => {
      if (this.secret !== undefined) throw new ConflictError('exists')
      return this.put(object)
    },
    update: async (_type, object) => {
      if (this.secret === undefined) throw new NotFoundError('gone')
      if (object.metadata.resourceVersion !== this.secret.metadata.resourceVersion) throw new ConflictError('changed')
      return this.put(object)
    },
  }

  put<T extends K8sObject>(object: T): T {
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(++this.#version) } }
    this.secret = stored
    return stored
  }
}

describeStorage(async () => {
  const { store } = new SecretServer()
  return [openSecretStorage({ store, ...KEY }), openSecretStorage({ store, ...KEY })]
})

describe('a certificate Secret', () => {
  let first: StoredCertificates
  let second: StoredCertificates
  beforeAll(async () => {
    ;[first, second] = await storedSamples()
  })

  test('is Opaque and has base64 under the names of cert-manager', async () => {
    const server = new SecretServer()
    await openSecretStorage({ store: server.store, ...KEY }).write(first, undefined)
    expect(server.secret).toMatchObject({ apiVersion: 'v1', kind: 'Secret', type: 'Opaque', metadata: KEY })
    expect(Object.keys(server.secret?.data ?? {}).sort()).toEqual(['ca.crt', 'ca.key', 'tls.crt', 'tls.key'])
    expect(Buffer.from(server.secret?.data?.['tls.crt'] ?? '', 'base64').toString()).toBe(first.leaf.certPem)
  })

  test('may be created empty before, and its labels and other keys stay', async () => {
    const server = new SecretServer()
    const metadata = { ...KEY, labels: { app: 'lodestone' } }
    server.put({ apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', data: { other: 'eA==' } })
    const storage = openSecretStorage({ store: server.store, ...KEY })
    expect(await storage.read()).toBeUndefined()
    expect(await storage.write(second, undefined)).toBe(true)
    expect(await storage.write(first, second)).toBe(true)
    expect(server.secret?.metadata.labels).toEqual({ app: 'lodestone' })
    expect(Object.keys(server.secret?.data ?? {}).sort()).toEqual(['ca.crt', 'ca.key', 'other', 'tls.crt', 'tls.key'])
  })

  test('without one of the keys causes an error with its name', async () => {
    const server = new SecretServer()
    const storage = openSecretStorage({ store: server.store, ...KEY })
    await storage.write(first, undefined)
    delete server.secret?.data?.['ca.key']
    await expect(storage.read()).rejects.toThrow('Secret lodestone-system/lodestone-certificates: ca.key is missing; ')
  })

  test('that is deleted during a write is written in the next round', async () => {
    const server = new SecretServer()
    const storage = openSecretStorage({ store: server.store, ...KEY })
    await storage.write(first, undefined)
    const { update } = server.store
    server.store.update = (type, object) => {
      server.secret = undefined
      return update(type, object)
    }
    expect(await storage.write(second, first)).toBe(false)
  })

  test('that cannot be written causes the error of the store', async () => {
    const { store } = new SecretServer()
    const create = () => Promise.reject(new Error('secrets is forbidden'))
    const storage = openSecretStorage({ store: { ...store, create }, ...KEY })
    await expect(storage.write(first, undefined)).rejects.toThrow('forbidden')
  })

  test('cannot be written if its namespace does not exist', async () => {
    const { store } = new SecretServer()
    const create = () => Promise.reject(new MissingPrerequisiteError('namespace "lodestone-system" does not exist'))
    const storage = openSecretStorage({ store: { ...store, create }, ...KEY })
    await expect(storage.write(first, undefined)).rejects.toThrow('does not exist')
  })
})
