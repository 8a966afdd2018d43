import { expect, test } from 'vitest'
import type { K8sObject } from '../../api/meta.ts'
import { ObjectDecoder } from './decoder.ts'
import { ObjectEncoder } from './encoder.ts'
import { MAX_SHAPES, MAX_VALUES, MAX_VALUES_LENGTH } from './format.ts'

/** Encodes objects of one kind, and decodes the lines. */
function roundTrip(objects: Iterable<K8sObject>) {
  const decoder = new ObjectDecoder(() => {})
  let lines = 0
  const encoder = new ObjectEncoder((line) => {
    lines += 1
    decoder.read(line)
  })
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
  const objects = Array.from({ length: MAX_SHAPES + 5 }, (_, i) => ({ ...named('same'), [`field-${i}`]: i }))
  expect(roundTrip(objects).decoded).toEqual(objects)
})

test('a value that is too long for the shared ones is written in place', () => {
  const long = 'x'.repeat(MAX_VALUES_LENGTH / 64)
  const objects = Array.from({ length: 70 }, (_, i) => named(`namespace-${i}`, { long: `${long}${i}` }))
  const { decoded } = roundTrip(objects)
  expect(decoded.map(({ metadata }) => metadata.labels?.['long']?.length)).toEqual(
    objects.map(({ metadata }) => metadata.labels?.['long']?.length),
  )
})

test('a file with too many shapes or values is rejected', () => {
  const decoder = new ObjectDecoder(() => {})
  for (let i = 0; i < MAX_SHAPES; i++) decoder.read('{"shape":{}}')
  expect(() => decoder.read('{"shape":{}}')).toThrow('it has too many shapes')
  for (let i = 0; i < MAX_VALUES; i++) decoder.read('{"value":0}')
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
