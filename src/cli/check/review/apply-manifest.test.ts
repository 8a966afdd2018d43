import { describe, expect, test } from 'vitest'
import {
  makeClaim,
  makeCluster,
  makeDeployment,
  makeNamespace,
  makePolicy,
  makeSource,
} from '../../../../test/builders.ts'
import { type K8sObject, LAST_APPLIED_ANNOTATION, type ObjectMeta } from '../../../api/meta.ts'
import { applyManifest, keptNames } from './apply-manifest.ts'

function withMetadata<T extends K8sObject>(object: T, metadata: ObjectMeta): T {
  return { ...object, metadata: { ...object.metadata, ...metadata } }
}

test('a new object is its manifest', () => {
  const manifest = makeClaim()
  expect(applyManifest(manifest, undefined)).toBe(manifest)
})

test('what the API server added stays', () => {
  const server = { uid: 'u', resourceVersion: '7', generation: 3, deletionTimestamp: '2026-01-01T00:00:00Z' }
  const stored = { ...makeClaim(), status: { phase: 'Bound' } }
  const manifest = withMetadata(makeClaim({ dataSourceName: 'other' }), {
    uid: 'v',
    resourceVersion: '1',
    generation: 1,
  })
  expect(applyManifest(manifest, withMetadata(stored, { ...server, finalizers: ['f'] }))).toEqual({
    ...manifest,
    metadata: { ...manifest.metadata, ...server, finalizers: ['f'] },
    status: stored.status,
  })
})

test('an object that is not being deleted is not deleted by its manifest', () => {
  const manifest = withMetadata(makeClaim(), { deletionTimestamp: '2026-01-01T00:00:00Z' })
  expect(applyManifest(manifest, makeClaim()).metadata).toEqual(makeClaim().metadata)
})

describe('labels and annotations', () => {
  test.each([
    { name: 'of other writers stay', last: undefined, want: { a: '2', b: '1', c: '3' } },
    { name: 'that only the last manifest has are removed', last: { a: '1', b: '1' }, want: { a: '2', c: '3' } },
  ])('$name', ({ last, want }) => {
    const annotations = last && { [LAST_APPLIED_ANNOTATION]: JSON.stringify({ metadata: { labels: last } }) }
    const stored = withMetadata(makeDeployment(), {
      labels: { a: '1', b: '1', c: '3' },
      ...(annotations && { annotations }),
    })
    const applied = applyManifest(makeDeployment({ labels: { a: '2' } }), stored)
    expect(applied.metadata.labels).toEqual(want)
  })

  test('that a decision reads and a manifest lacks are named', () => {
    const stored = withMetadata(makeNamespace('default', 'other'), {
      labels: { team: 'a', 'kubernetes.io/metadata.name': 'default', 'policy.karmada.io/id': 'x' },
    })
    const manifest = makeNamespace('default')
    expect(keptNames(manifest, applyManifest(manifest, stored))).toEqual(['team', 'lodestone.dev/allow-claims-from'])
    expect(keptNames(manifest, applyManifest(manifest, undefined))).toEqual([])
  })
})

describe('the spec', () => {
  test('is that of the manifest, also without a field that it had before', () => {
    const manifest = makePolicy({ placement: {} })
    expect(applyManifest(manifest, makePolicy({ priority: 7 }))).toEqual(manifest)
  })

  test('of a source keeps the location that its data system has given', () => {
    const { locality: _none, ...spec } = makeSource().spec
    const manifest = { ...makeSource(), spec }
    expect(applyManifest(manifest, makeSource())).toEqual(makeSource())
    const last = { [LAST_APPLIED_ANNOTATION]: JSON.stringify({ metadata: {}, spec: { locality: {} } }) }
    expect(applyManifest(manifest, withMetadata(makeSource(), { annotations: last }))).toMatchObject({ spec })
  })

  const notReady = { key: 'cluster.karmada.io/not-ready', effect: 'NoExecute' } as const
  const broken = { key: 'broken', effect: 'NoSchedule' } as const
  test.each([
    { name: 'no taints keeps all', given: undefined, want: [broken, notReady] },
    { name: 'taints keeps those of Karmada', given: [], want: [notReady] },
    { name: 'a taint of Karmada has it once', given: [notReady], want: [notReady] },
  ])('of a cluster with $name', ({ given, want }) => {
    const stored = makeCluster('member1', { region: 'north', taints: [broken, notReady] })
    const applied = applyManifest(makeCluster('member1', { ...(given && { taints: given }) }), stored)
    expect(applied).toMatchObject({ spec: { region: 'north', taints: want } })
  })
})
