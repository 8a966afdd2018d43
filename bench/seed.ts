/** Fills a control plane with claims, sources and bindings. */
import { Client } from 'undici'
import type { K8sObject } from '../src/api/meta.ts'

type Json = K8sObject & Record<string, unknown>

export interface Fleet {
  claims: number
  sources: number
  bindings: number
}

/** Transactions of etcd take 128 operations. */
const BATCH = 100

/**
 * Writes the objects as kube-apiserver stores custom resources: JSON under /registry/<group>/<plural>. Straight into etcd, since a
 * hundred thousand requests would measure the API server's write path, which is not the subject.
 *
 * @param etcd its client URL
 */
export async function seedFleet(etcd: string, template: K8sObject, fleet: Fleet): Promise<void> {
  const client = new Client(etcd)
  try {
    for (const batch of batches(fleetObjects(template, fleet))) {
      const success = batch.map(({ key, value }) => ({
        requestPut: { key: base64(key), value: base64(JSON.stringify(value)) },
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

/** Claim i is for workload i and asks for source i, or an earlier one where there are fewer; workload 0 is the one of the review. */
function* fleetObjects(
  template: K8sObject,
  { claims, sources, bindings }: Fleet,
): Generator<{ key: string; value: Json }> {
  const spec = (template as K8sObject & { spec: { resource: Record<string, unknown> } }).spec
  for (let i = 0; i < sources; i++) {
    const name = `static-bucket-data-${i}`
    yield object('datadependency.volcano.sh', 'datasources', undefined, {
      apiVersion: 'datadependency.volcano.sh/v1alpha1',
      kind: 'DataSource',
      metadata: { name },
      spec: {
        system: 'static',
        type: 'bucket',
        name: `data-${i}`,
        locality: { clusterNames: [`member${(i % 3) + 1}`], location: `s3://bucket-${i}/data`, bytes: i * 1024 },
      },
      status: { phase: 'Available', lastResolvedTime: '2026-11-20T00:00:00Z' },
    })
  }
  for (let i = 0; i < claims; i++) {
    const source = i % sources
    yield object('datadependency.volcano.sh', 'datasourceclaims', 'default', {
      apiVersion: 'datadependency.volcano.sh/v1alpha1',
      kind: 'DataSourceClaim',
      metadata: { name: `claim-${i}`, namespace: 'default' },
      spec: {
        system: 'static',
        dataSourceType: 'bucket',
        dataSourceName: `data-${source}`,
        workload: { apiVersion: 'apps/v1', kind: 'Deployment', name: workloadName(i, spec.resource) },
      },
      status: { phase: 'Bound', boundDataSource: `static-bucket-data-${source}` },
    })
  }
  for (let i = 1; i <= bindings; i++) {
    const workload = workloadName(i, spec.resource)
    yield object('work.karmada.io', 'resourcebindings', 'default', {
      ...template,
      metadata: { ...template.metadata, name: `${workload}-deployment`, namespace: 'default' },
      spec: { ...spec, resource: { ...spec.resource, name: workload } },
    })
  }
}

function workloadName(i: number, { name }: Record<string, unknown>): string {
  return i === 0 ? String(name) : `workload-${i}`
}

function object(
  group: string,
  plural: string,
  namespace: string | undefined,
  value: Json,
): { key: string; value: Json } {
  const metadata = {
    ...value.metadata,
    uid: crypto.randomUUID(),
    creationTimestamp: '2026-11-20T00:00:00Z',
    generation: 1,
  }
  const path = [group, plural, ...(namespace ? [namespace] : []), metadata.name].join('/')
  return { key: `/registry/${path}`, value: { ...value, metadata } }
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
