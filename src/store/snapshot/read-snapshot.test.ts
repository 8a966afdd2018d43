import { expect, test } from 'vitest'
import type { K8sObject } from '../../api/meta.ts'
import { ObjectRows } from './read-snapshot.ts'

function rowsOf(count: number) {
  const rows = Array.from({ length: count }, (_, number) => String(number))
  return new ObjectRows(rows, (name): K8sObject => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }))
}

const nameOf = ({ metadata }: K8sObject) => metadata.name

test('an object that is read again is the same one', () => {
  const rows = rowsOf(3)
  expect([rows.at(2), rows.at(0), rows.at(2)].map(nameOf)).toEqual(['2', '0', '2'])
  expect(rows.at(2)).toBe(rows.at(2))
})

test('of many objects, those read last are kept, and the others are built again', () => {
  const rows = rowsOf(140_000)
  const [first, other] = [rows.at(1), rows.at(2)]
  expect(nameOf(rows.at(131_073))).toBe('131073')
  expect(rows.at(1)).not.toBe(first)
  expect(rows.at(1)).toEqual(first)
  expect(rows.at(2)).toBe(other)
  expect([...rows].map(nameOf)).toEqual(Array.from({ length: 140_000 }, (_, number) => String(number)))
})
