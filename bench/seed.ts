/** Fills a control plane with objects, past its API server. */
import { Client } from 'undici'
import type { K8sObject } from '../src/api/meta.ts'

/** An object as kube-apiserver stores or at least reads it: JSON under /registry/<group>/<plural>. */
export interface Stored {
  /** Empty for kinds that Kubernetes has by itself: those are under /registry/<plural>, whatever their group. */
  group: string
  plural: string
  object: K8sObject & Record<string, unknown>
}

/** Transactions of etcd take 128 operations. */
const BATCH = 100

/**
 * Writes the objects straight into etcd, since a hundred thousand requests would measure the API server's write path, which is not the
 * subject. Each gets what the server would have given it: an identity, a time, a generation.
 *
 * @param etcd its client URL
 */
export async function seed(etcd: string, objects: Iterable<Stored>): Promise<void> {
  await put(etcd, batches(stamped(objects), BATCH))
}

/** Writes the objects as they are, straight into etcd, as other versions of what is there: all who watch hear of it. */
export async function overwrite(etcd: string, objects: Iterable<Stored>): Promise<void> {
  // One by one: a transaction is one revision, and watches that break off within one lose the rest of it.
  await put(etcd, batches(objects, 1))
}

async function put(etcd: string, transactions: Iterable<Stored[]>): Promise<void> {
  const client = new Client(etcd)
  try {
    for (const batch of transactions) {
      const success = batch.map((stored) => ({
        requestPut: { key: base64(keyOf(stored)), value: base64(JSON.stringify(stored.object)) },
      }))
      const { statusCode, body } = await client.request({
        method: 'POST',
        path: '/v3/kv/txn',
        body: JSON.stringify({ success }),
      })
      const text = await body.text()
      if (statusCode !== 200) throw new Error(`etcd: ${statusCode} ${text}`)
    }
  } finally {
    await client.close()
  }
}

function keyOf({ group, plural, object: { metadata } }: Stored): string {
  return ['/registry', group, plural, metadata.namespace, metadata.name].filter(Boolean).join('/')
}

function* stamped(objects: Iterable<Stored>): Generator<Stored> {
  for (const { object, ...stored } of objects) {
    const server = { uid: crypto.randomUUID(), creationTimestamp: '2026-11-20T00:00:00Z', generation: 1 }
    yield { ...stored, object: { ...object, metadata: { ...object.metadata, ...server } } }
  }
}

function* batches<T>(items: Iterable<T>, size: number): Generator<T[]> {
  let batch: T[] = []
  for (const item of items) {
    batch.push(item)
    if (batch.length < size) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
