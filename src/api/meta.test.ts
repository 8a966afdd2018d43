import { describe, expect, test } from 'vitest'
import { keyOfObject, referenceOf, splitObjectKey } from './meta.ts'

describe.each([
  { name: 'a namespaced object', metadata: { namespace: 'default', name: 'app' }, key: 'default/app' },
  { name: 'a cluster-scoped object', metadata: { name: 'app' }, key: 'app' },
])('$name', ({ metadata, key }) => {
  test('has a key from which its name is parsed again', () => {
    expect(keyOfObject({ metadata })).toBe(key)
    expect(splitObjectKey(key)).toEqual(metadata)
  })

  test('has a reference with kind, name and, if it has one, namespace', () => {
    const object = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { ...metadata, uid: 'u' } }

    expect(referenceOf(object)).toEqual({ apiVersion: 'apps/v1', kind: 'Deployment', ...metadata })
  })
})

test('an empty namespace counts as absent', () => {
  const object = { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { namespace: '', name: 'data' } }

  expect([keyOfObject(object), referenceOf(object)]).toEqual([
    'data',
    { apiVersion: 'v1', kind: 'PersistentVolume', name: 'data' },
  ])
})
