import { expect, test } from 'vitest'
import type { K8sObject } from '../../api/meta.ts'
import { ObjectDecoder } from './decoder.ts'
import { ObjectEncoder } from './encoder.ts'
import { SHARED_LIMITS } from './format.ts'

const fewShared = { shapes: 10, values: 50, valuesLength: 4096 }

/** Encodes objects of one kind, and decodes the lines. */
function roundTrip(objects: Iterable<K8sObject>, limits = SHARED_LIMITS) {
  const decoder = new ObjectDecoder(() => {}, limits)
  let lines = 0
  const encoder = new ObjectEncoder((line) => {
    lines += 1
    decoder.read(line)
  }, limits)
  encoder.beginKind('Namespace')
  for (const object of objects) encoder.add(object)
  const rows = decoder.rows.get('Namespace') ?? []
  return { decoded: rows.map((row) => decoder.build(row)), lines }
}

const named = (name: string, labels: Record<string, unknown> = {}): K8sObject =>
  ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } }) as K8sObject

test('values that repeat are one object, and names are written in place', () => {
  const objects = Array.from({ length: 30_000 }, (_, i) => named(`namespace-${i}`, { team: 'one' }))
  const { decoded, lines } = roundTrip(objects)
  expect(decoded).toEqual(objects)
  expect(new Set(decoded.map(({ metadata }) => metadata.labels)).size).toBe(1)
  // The kind, one shape, each object, the values of all, and the names until it is known that they do not repeat.
  expect(lines).toBe(1 + 1 + 30_000 + 3 + 20_001)
})

test('an object with one shape too many is written as it is', () => {
  const objects = Array.from({ length: 15 }, (_, i) => ({ ...named('same'), [`field-${i}`]: 0 }))
  const { decoded, lines } = roundTrip(objects, fewShared)
  expect(decoded).toEqual(objects)
  // The kind, the shapes, the objects, and the values of all: the type, the kind, the name, the labels and the field.
  expect(lines).toBe(1 + 10 + 15 + 5)
})

test.each([
  { name: 'too long for the shared ones', longest: 1000, count: 10, inPlace: 6 },
  { name: 'one too many', longest: 1, count: 60, inPlace: 13 },
])('a value that is $name is written in place', ({ longest, count, inPlace }) => {
  const objects = Array.from({ length: count }, (_, i) => named('same', { long: `${'x'.repeat(longest)}${i}` }))
  const { decoded, lines } = roundTrip(objects, fewShared)
  expect(decoded).toEqual(objects)
  // The kind, one shape, each object, the type, the kind and the name of all, and the labels that are shared.
  expect(lines).toBe(1 + 1 + count + 3 + count - inPlace)
})

test('a file with too many shapes or values is rejected', () => {
  const decoder = new ObjectDecoder(() => {}, fewShared)
  for (let i = 0; i < fewShared.shapes; i++) decoder.read('{"shape":{}}')
  expect(() => decoder.read('{"shape":{}}')).toThrow('it has too many shapes')
  for (let i = 0; i < fewShared.values; i++) decoder.read('{"value":0}')
  expect(() => decoder.read('{"value":0}')).toThrow('it has too many shared values')
})

test('members of any name come back as they are', () => {
  const labels = JSON.parse('{"__proto__":{"a":1},"constructor":"b","":"c"}')
  const object = { ...named('one', labels), ...JSON.parse('{"__proto__":{"polluted":true}}') }
  const own = JSON.parse(
    '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"two"},"__proto__":{"polluted":true}}',
  )
  const { decoded } = roundTrip([object, own])
  expect(decoded.map((each) => JSON.stringify(each))).toEqual([object, own].map((each) => JSON.stringify(each)))
  expect((decoded[1] as { polluted?: boolean }).polluted).toBeUndefined()
})
