/** Tests which fields of an object a field manager applied. */
import { expect, test } from 'vitest'
import type { K8sObject } from '../../api/meta.ts'
import { appliedFields } from './managed-fields.ts'

const conditions = [
  { type: 'QuotaReserved', status: 'True', reason: 'QuotaReserved' },
  { type: 'Finished', status: 'False', reason: 'Running' },
]
const status = {
  conditions,
  admission: { clusterQueue: 'team', podSetAssignments: [{ name: 'main', count: 3 }] },
  nominatedClusterNames: ['worker1'],
  finalizers: ['a', 'b'],
  note: 'of another manager',
}
const ofMain = { '.': {}, 'f:name': {}, 'f:count': {} }

function applied(fieldsV1: unknown, entry: object = {}): Record<string, unknown> {
  const ours = { manager: 'kueue-admission', operation: 'Apply', subresource: 'status', fieldsV1, ...entry }
  const theirs = { ...ours, manager: 'kubectl', fieldsV1: { 'f:status': { 'f:note': {} } } }
  const object = { apiVersion: 'v1', kind: 'X', metadata: { managedFields: [theirs, ours] }, status } as K8sObject
  return appliedFields(object, 'kueue-admission', 'status')
}

test.each<{ name: string; fields: object; owned: object }>([
  { name: 'an atomic list', fields: { 'f:nominatedClusterNames': {} }, owned: { nominatedClusterNames: ['worker1'] } },
  {
    name: 'one item of a list with keys, and one of its fields',
    fields: { 'f:conditions': { 'k:{"type":"QuotaReserved"}': { '.': {}, 'f:status': {} } } },
    owned: { conditions: [{ type: 'QuotaReserved', status: 'True' }] },
  },
  {
    name: 'a struct with a list of structs',
    fields: { 'f:admission': { '.': {}, 'f:podSetAssignments': { '.': {}, 'k:{"name":"main"}': ofMain } } },
    owned: { admission: { podSetAssignments: [{ name: 'main', count: 3 }] } },
  },
  { name: 'an item of a set', fields: { 'f:finalizers': { 'v:"b"': {} } }, owned: { finalizers: ['b'] } },
  { name: 'a field that is gone', fields: { 'f:clusterName': {} }, owned: {} },
  { name: 'an item that is gone', fields: { 'f:conditions': { 'k:{"type":"Gone"}': {} } }, owned: { conditions: [] } },
  { name: 'a key that is not JSON', fields: { 'f:conditions': { 'k:{': {} } }, owned: { conditions: [] } },
  { name: 'the struct alone', fields: { 'f:admission': { '.': {} } }, owned: { admission: {} } },
  { name: 'fields of what is no struct', fields: { 'f:note': { 'f:text': {} } }, owned: { note: {} } },
])('$name', ({ fields, owned }) => {
  expect(applied({ 'f:status': fields })).toEqual({ status: owned })
})

test.each([
  { name: 'wrote it without an apply', entry: { operation: 'Update' } },
  { name: 'applied another subresource', entry: { subresource: 'scale' } },
  { name: 'applied the object itself', entry: { subresource: undefined } },
  { name: 'has no fields', entry: { fieldsV1: undefined } },
])('a manager that $name owns nothing', ({ entry }) => {
  expect(applied({ 'f:status': { 'f:note': {} } }, entry)).toEqual({})
})

test('an object without managed fields has none of a manager', () => {
  expect(appliedFields({ apiVersion: 'v1', kind: 'X', metadata: {} }, 'kueue-admission', 'status')).toEqual({})
})

test('a long list is read a few times, not once for each of its items', () => {
  let reads = 0
  const count = 500
  const items = Array.from({ length: count }, (_, i) => ({
    get type() {
      reads++
      return `t${i}`
    },
  }))
  const keys = Object.fromEntries(items.map((_, i) => [`k:{"type":"t${i}"}`, {}]))
  const ours = {
    manager: 'm',
    operation: 'Apply',
    subresource: 'status',
    fieldsV1: { 'f:status': { 'f:items': keys } },
  }
  const object = { apiVersion: 'v1', kind: 'X', metadata: { managedFields: [ours] }, status: { items } } as K8sObject
  expect(appliedFields(object, 'm', 'status')).toMatchObject({ status: { items: { length: count } } })
  expect(reads).toBeLessThan(10 * count)
})
