/** What the fuzzed servers hold: one folder with claims, sources, policies, clusters and volumes, and one without claims. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { AdmissionRequest } from '../../src/api/admission.ts'
import { apiVersionOf, type K8sObject, keyOfObject, type ResourceType } from '../../src/api/meta.ts'
import { SHIPPED_KINDS } from '../../src/core/workload-kinds/kinds.ts'
import { webhookPath } from '../../src/webhooks/define.ts'
import { allWebhooks } from '../../src/webhooks/index.ts'
import { INTERPRETER_PATH } from '../../src/webhooks/interpreter.ts'
import { makeClaim, makeCluster, makeSource } from '../builders.ts'
import type { Seed } from './mutate.ts'

const webhooks = allWebhooks(SHIPPED_KINDS)

/** The inputs of a golden conversation (docs/guides/test.md). */
interface Example {
  given?: K8sObject[]
  when: { object: K8sObject; oldObject?: K8sObject }
}

const examples = webhooks.flatMap((webhook) => {
  const folder = join('webhooks', webhook.name, 'examples')
  return readdirSync(folder).map((name) => ({
    webhook,
    ...(parse(readFileSync(join(folder, name), 'utf8')) as Example),
  }))
})

const clusters = [
  makeCluster('member1', { provider: 'a', region: 'eu-central', zones: ['eu-1'] }, { location: 'frankfurt' }),
  makeCluster('member2', { provider: 'b', region: 'us-east', zones: ['us-1', 'us-2'] }, { location: 'ohio' }),
  makeCluster('member3', { provider: 'a', region: 'ap-south' }, { location: 'mumbai' }),
  makeCluster('member4', {}, { location: 'ohio' }),
]

/** Of the recorded bindings; it says something else than their placements, as a cache does that is behind. */
const policy: K8sObject & { spec: object } = {
  apiVersion: 'policy.karmada.io/v1alpha1',
  kind: 'PropagationPolicy',
  metadata: { name: 'app', namespace: 'default' },
  spec: {
    resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'app' }],
    placement: { clusterAffinity: { clusterNames: ['member2', 'member3', 'member4'] } },
  },
}

/** The objects of the folder with claims; of several of one name the first counts. */
export function stateWithClaims(): K8sObject[] {
  const objects = [makeClaim(), makeSource(), policy, ...clusters, ...examples.flatMap(({ given = [] }) => given)]
  return [...new Map(objects.toReversed().map((object) => [`${object.kind} ${keyOfObject(object)}`, object])).values()]
}

export function stateWithoutClaims(): K8sObject[] {
  return stateWithClaims().filter(
    ({ kind }) => kind !== 'DataSourceClaim' && kind !== 'DataSource' && kind !== 'Cluster',
  )
}

export function writeFolder(folder: string, objects: readonly K8sObject[]): string {
  mkdirSync(folder, { recursive: true })
  for (const [i, object] of objects.entries()) writeFileSync(join(folder, `${i}.json`), JSON.stringify(object))
  return folder
}

/** Reads the recorded and the golden reviews, and makes requests of Karmada's interpreter about the objects in them. */
export function readSeeds(): Seed[] {
  const reviews = [...recorded(), ...golden()]
  const questions = reviews.flatMap(({ review }) => {
    const { object } = review['request'] as AdmissionRequest
    return object && ['Deployment', 'Pod', 'Job'].includes(object.kind)
      ? [{ path: INTERPRETER_PATH, review: question(object) }]
      : []
  })
  return [...reviews, ...questions]
}

function recorded(): Seed[] {
  const folder = 'test/data/reviews'
  return readdirSync(folder).flatMap((file) => {
    const review = JSON.parse(readFileSync(join(folder, file), 'utf8')) as { request: AdmissionRequest }
    const webhook = webhooks.find(({ resources }) => resources.some(({ kind }) => kind === review.request.kind.kind))
    if (!webhook) return []
    // Half of a recorded body: nothing reads it, and one review with it is enough.
    if (!file.startsWith('005'))
      for (const object of [review.request.object, review.request.oldObject])
        delete (object?.metadata as { managedFields?: unknown } | undefined)?.managedFields
    return [{ path: webhookPath(webhook), review: review as unknown as Record<string, unknown> }]
  })
}

function golden(): Seed[] {
  return examples.map(({ webhook, when: { object, oldObject } }) => {
    const reviewed = webhook.resources.find(
      (type) => type.kind === object.kind && apiVersionOf(type) === object.apiVersion,
    )
    const { group, version, kind, plural } = reviewed ?? (webhook.resources[0] as ResourceType)
    const review = {
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      request: {
        uid: 'example',
        kind: { group, version, kind },
        resource: { group, version, resource: plural },
        name: object.metadata.name,
        namespace: object.metadata.namespace,
        userInfo: { username: 'admin' },
        operation: oldObject ? 'UPDATE' : 'CREATE',
        object,
        oldObject: oldObject ?? null,
      },
    }
    return { path: webhookPath(webhook), review: JSON.parse(JSON.stringify(review)) as Record<string, unknown> }
  })
}

function question(object: K8sObject): Record<string, unknown> {
  const [group, version] = object.apiVersion.includes('/') ? object.apiVersion.split('/') : ['', object.apiVersion]
  return {
    apiVersion: 'config.karmada.io/v1alpha1',
    kind: 'ResourceInterpreterContext',
    request: {
      uid: 'question',
      kind: { group, version, kind: object.kind },
      name: object.metadata.name,
      namespace: object.metadata.namespace,
      operation: 'InterpretDependency',
      object,
    },
  }
}
