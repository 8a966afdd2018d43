/** Writes objects into etcd. A hundred thousand requests would measure the write path of the API server. */
import { request } from 'undici'
import type { K8sObject, ResourceType } from '../../src/api/meta.ts'

export interface Stored {
  type: ResourceType
  object: K8sObject
}

/** Transactions of etcd take 128 operations. */
const BATCH = 100

/** Writes new objects, with the identity, time and generation that the API server would set. */
export async function seed(etcd: string, objects: Iterable<Stored>): Promise<void> {
  const creationTimestamp = '2026-11-20T00:00:00Z'
  let batch: Stored[] = []
  for (const { type, object } of objects) {
    const metadata = { ...object.metadata, uid: crypto.randomUUID(), creationTimestamp, generation: 1 }
    batch.push({ type, object: { ...object, metadata } })
    if (batch.length < BATCH) continue
    await put(etcd, batch)
    batch = []
  }
  await put(etcd, batch)
}

/** Writes new versions of stored objects. Watches report them. */
export async function overwrite(etcd: string, objects: Stored[]): Promise<void> {
  // One at a time: a transaction is one revision, and a watch that ends within a revision loses the rest of it.
  for (const object of objects) await put(etcd, [object])
}

async function put(etcd: string, objects: Stored[]): Promise<void> {
  const success = objects.map(({ type, object }) => ({
    requestPut: { key: base64(keyOf(type, object)), value: base64(JSON.stringify(object)) },
  }))
  const { statusCode, body } = await request(`${etcd}/v3/kv/txn`, { method: 'POST', body: JSON.stringify({ success }) })
  const text = await body.text()
  if (statusCode !== 200) throw new Error(`etcd: ${statusCode} ${text}`)
}

/** The groups of kinds that Kubernetes has built in have no dot, and are not part of the key. */
function keyOf({ group, plural }: ResourceType, { metadata: { namespace, name } }: K8sObject): string {
  return ['/registry', group.includes('.') ? group : '', plural, namespace, name].filter(Boolean).join('/')
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
