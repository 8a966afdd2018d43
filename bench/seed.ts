/** Fills a control plane with objects, past its API server. */
import { Client } from 'undici'
import type { K8sObject } from '../src/api/meta.ts'

/** A custom resource as kube-apiserver stores it: JSON under /registry/<group>/<plural>. */
export interface Stored {
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
  const client = new Client(etcd)
  try {
    for (const batch of batches(objects)) {
      const success = batch.map((stored) => ({
        requestPut: { key: base64(keyOf(stored)), value: base64(JSON.stringify(created(stored))) },
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
  return ['/registry', group, plural, ...(metadata.namespace ? [metadata.namespace] : []), metadata.name].join('/')
}

function created({ object }: Stored): K8sObject {
  const server = { uid: crypto.randomUUID(), creationTimestamp: '2026-11-20T00:00:00Z', generation: 1 }
  return { ...object, metadata: { ...object.metadata, ...server } }
}

function* batches<T>(items: Iterable<T>): Generator<T[]> {
  let batch: T[] = []
  for (const item of items) {
    batch.push(item)
    if (batch.length < BATCH) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
