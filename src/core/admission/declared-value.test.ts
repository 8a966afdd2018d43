import { expect, test } from 'vitest'
import { type K8sObject, LAST_APPLIED_ANNOTATION, type ObjectMeta } from '../../api/meta.ts'
import { declarationsIn } from './declared-value.ts'

const VALUE = ['spec', 'on']
const NOTE = ['metadata', 'annotations', 'note']
const applied = (manifest: string): ObjectMeta => ({ annotations: { [LAST_APPLIED_ANNOTATION]: manifest } })
const managed = (...fieldsV1: unknown[]): ObjectMeta => ({ managedFields: fieldsV1.map((one) => ({ fieldsV1: one })) })
const on = { 'f:spec': { 'f:on': {} } }
const noted = { ...on, 'f:metadata': { 'f:annotations': { 'f:note': {} } } }

test.each<[string, ObjectMeta, boolean]>([
  ['has no writers', {}, false],
  ['was applied with the value', applied('{"spec":{"on":true}}'), true],
  ['was applied with a value of null', applied('{"spec":{"on":null}}'), true],
  [
    'was applied with the value and the note',
    applied('{"spec":{"on":1},"metadata":{"annotations":{"note":""}}}'),
    false,
  ],
  ['was applied without the value', applied('{"spec":{}}'), false],
  ['was applied with another shape', applied('{"spec":"on"}'), false],
  ['has an annotation that is not JSON', applied('x'), false],
  ['has a manager of the value', managed(on), true],
  ['has a manager of the value and the note', managed(noted), false],
  ['has a manager of both, and one of the value', managed(noted, on), true],
  ['has a manager of the whole spec', managed({ 'f:spec': {} }), false],
  ['has a manager without fields', managed(undefined, null, 'x'), false],
  ['has managers of another shape', { managedFields: {} as never }, false],
])('an object that %s: the value is declared: %s', (_name, metadata, want) => {
  const object: K8sObject = { apiVersion: 'v1', kind: 'Thing', metadata }
  expect(declarationsIn(object)(VALUE, NOTE)).toBe(want)
})

test('a value in an item of a list is found in a manifest', () => {
  const object = { apiVersion: 'v1', kind: 'Thing', metadata: applied('{"tasks":[{"on":1}]}') }
  expect(declarationsIn(object)(['tasks', 0, 'on'], NOTE)).toBe(true)
})
