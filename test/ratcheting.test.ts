/** No webhook blocks the metadata, the finalizers or the deletion of an object that is stored already, whatever it finds invalid in it. */
import { describe, expect, test } from 'vitest'
import type { AdmissionRequest } from '../src/api/admission.ts'
import { customResourceDefinitions } from '../src/api/crds.ts'
import { HOLD_ANNOTATION, MOVER_LABEL, MOVER_TASK_ANNOTATION, VOLUMES_ANNOTATION } from '../src/api/lodestone.ts'
import type { K8sObject, ObjectMeta } from '../src/api/meta.ts'
import type { Schema } from '../src/api/schemas/schema.ts'
import { compileSchema } from '../src/base/schema/schema-errors.ts'
import { SHIPPED_KINDS } from '../src/core/workload-kinds/kinds.ts'
import { openFolderStore } from '../src/store/folder/folder.ts'
import { cachedKinds } from '../src/store/kinds/cached-kinds.ts'
import { defaultSettings } from '../src/webhooks/context.fake.ts'
import { allWebhooks } from '../src/webhooks/index.ts'
import {
  makeBinding,
  makeClaim,
  makeDeployment,
  makePod,
  makePolicy,
  makeSource,
  makeVolumeManager,
} from './builders.ts'

const attributes = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`a${i}`, 'x']))
const workload = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'app' }
const long = 'x'.repeat(64)

/** The objects that a webhook rejects when they are created. Of these, volcano-global and VCK accepted all that is in claims and sources. */
const INVALID: Readonly<Record<string, Readonly<Record<string, K8sObject>>>> = {
  'data-source-claim': {
    'an empty namespace': makeClaim({ workload: { ...workload, namespace: '' } }),
    '40 attributes': makeClaim({ attributes }),
    'a padded name': makeClaim({ dataSourceName: ' lake.shop.sales' }),
    'a long type': makeClaim({ dataSourceType: long }),
    'a workload of another namespace without permission': makeClaim({ workload: { ...workload, namespace: 'other' } }),
  },
  'data-source': {
    '40 attributes': makeSource({ attributes }),
    'a long type': makeSource({ type: long }),
  },
  'volume-manager': { 'an unknown source type': makeVolumeManager([{ sourceType: 'Tape' }]) },
  'mover-pod': { 'a task of movers': makePod({}, {}, { annotations: { [MOVER_TASK_ANNOTATION]: '{}' } }) },
  workload: { 'a malformed annotation': annotated('{') },
}

/** The webhooks that reject no object for its content, or only when it is created. */
const NEVER_ON_UPDATE = [
  ...['pod', 'annotated-pod', 'unknown-workload'],
  ...['propagation-policy', 'cluster-propagation-policy', 'claim-finalizer'],
]
/** The webhooks that reject a change alone. */
const REJECT_CHANGES = ['resource-binding', 'cluster-resource-binding']

const webhooks = allWebhooks(SHIPPED_KINDS)
const store = openFolderStore({ kinds: cachedKinds })
await store.start(AbortSignal.timeout(60_000))
const context = { ...defaultSettings, store, now: 0 }

function review(name: string, object: K8sObject, oldObject?: K8sObject): string {
  const webhook = webhooks.find((one) => one.name === name)
  const { namespace } = object.metadata
  const [group = '', version = ''] = object.apiVersion.includes('/') ? object.apiVersion.split('/') : ['', 'v1']
  const request: AdmissionRequest = {
    uid: 'u',
    kind: { group, version, kind: object.kind },
    resource: { group, version, resource: '' },
    operation: oldObject ? 'UPDATE' : 'CREATE',
    object,
    ...(oldObject && { oldObject }),
    ...(namespace && { namespace }),
  }
  return webhook?.review(request, context).kind ?? 'no such webhook'
}

function withMetadata(object: K8sObject, metadata: ObjectMeta): K8sObject {
  return { ...object, metadata: { ...object.metadata, ...metadata } }
}

function annotated(volumes: string): K8sObject {
  return withMetadata(makeDeployment(), { annotations: { [VOLUMES_ANNOTATION]: volumes } })
}

test('every webhook is in this file', () => {
  const names = [...Object.keys(INVALID), ...NEVER_ON_UPDATE, ...REJECT_CHANGES]
  expect(names.sort()).toEqual(webhooks.map(({ name }) => name).sort())
})

describe.each(
  Object.entries(INVALID).flatMap(([name, objects]) =>
    Object.entries(objects).map(([what, invalid]) => ({ name, what, invalid })),
  ),
)('$name with $what', ({ name, invalid }) => {
  const stored = withMetadata(invalid, { finalizers: ['datadependency.volcano.sh/finalizer'] })
  const deleted = { deletionTimestamp: '2026-11-20T12:00:00Z' }

  test('is rejected when it is created', () => {
    expect(review(name, invalid)).toBe('deny')
  })

  test.each<{ change: string; metadata: ObjectMeta; before: K8sObject }>([
    { change: 'its finalizer is removed', metadata: { finalizers: [] }, before: stored },
    { change: 'it is labeled', metadata: { labels: { team: 'data' } }, before: stored },
    { change: 'its deletion begins', metadata: deleted, before: stored },
    {
      change: 'it is deleted and loses its finalizer',
      metadata: { finalizers: [] },
      before: withMetadata(stored, deleted),
    },
  ])('is accepted when $change', ({ metadata, before }) => {
    expect(review(name, withMetadata(before, metadata), before)).toBe('allow')
  })
})

// Kubernetes before 1.30 validates the whole object against the schema of its CRD at each write.
test.each(
  ['data-source-claim', 'data-source'].flatMap((name) =>
    Object.entries(INVALID[name] ?? {}).map(([what, object]) => ({ name, what, object })),
  ),
)('the CRD of a $name accepts $what, as that of volcano-global', ({ object }) => {
  const crd = customResourceDefinitions().find((one) => (one as Crd).spec.names.kind === object.kind) as Crd
  const [version] = crd.spec.versions
  const { spec } = object as K8sObject & { spec: object }
  expect(compileSchema(version.schema.openAPIV3Schema, 'forbidden')({ spec })).toEqual([])
})

interface Crd extends K8sObject {
  spec: { names: { kind: string }; versions: [{ schema: { openAPIV3Schema: Schema } }] }
}

test.each<{ name: string; before: K8sObject; after: K8sObject }>([
  { name: 'data-source-claim', before: makeClaim(), after: makeClaim({ dataSourceType: long }) },
  { name: 'data-source', before: makeSource(), after: makeSource({ type: long }) },
  { name: 'volume-manager', before: makeVolumeManager(), after: makeVolumeManager([{ sourceType: 'Tape' }]) },
  {
    name: 'mover-pod',
    before: makePod('{}'),
    after: makePod('{}', {}, { labels: { [MOVER_LABEL]: 'delete' } }),
  },
  { name: 'workload', before: makeDeployment(), after: annotated('{') },
])('$name: a change that makes it invalid is rejected, unless it is being deleted', ({ name, before, after }) => {
  const gone = withMetadata(after, { deletionTimestamp: '2026-11-20T12:00:00Z' })
  expect([review(name, after, before), review(name, gone, before)]).toEqual(['deny', 'allow'])
})

test.each(REJECT_CHANGES)('%s: a workload on hold is not scheduled, unless its binding is being deleted', (name) => {
  const hold = { reason: 'Unresolved', message: 'unknown', since: '2026-11-20T12:00:00Z' }
  const metadata = {
    annotations: { [HOLD_ANNOTATION]: JSON.stringify(hold) },
    namespace: name === 'resource-binding' ? 'default' : undefined,
  } as ObjectMeta
  const suspended = { placement: makePolicy().spec.placement ?? {}, suspension: { scheduling: true } }
  const before = makeBinding(suspended, metadata)
  const after = makeBinding({ ...suspended, clusters: [{ name: 'member1' }] }, metadata)
  const gone = withMetadata(after, { deletionTimestamp: '2026-11-20T12:00:00Z' })

  expect([review(name, after, before), review(name, gone, before)]).toEqual(['deny', 'allow'])
})
