import { expect, test } from 'vitest'
import { NOW } from '../../../../test/builders.ts'
import { at, makeNode } from '../../../../test/volume-builders.ts'
import type { Node } from '../../../api/node.ts'
import { hasDiskPressure, healthOf, type NodeHealth, unreadyFor } from './node-health.ts'

const TIME = '2026-01-01T00:00:00Z'
const nodeWith = (...conditions: object[]) => ({ metadata: {}, status: { conditions } }) as Node
const NO_STATUS = { metadata: {} } as Node

test.each<{ name: string; node: Node; want: NodeHealth }>([
  { name: 'without a status', node: NO_STATUS, want: { isReady: true } },
  { name: 'without the condition', node: nodeWith({ type: 'DiskPressure', status: 'True' }), want: { isReady: true } },
  { name: 'without conditions', node: { metadata: {}, status: {} } as Node, want: { isReady: true } },
  {
    name: 'with Ready=True after another condition',
    node: nodeWith({ type: 'DiskPressure', status: 'False' }, { type: 'Ready', status: 'True' }),
    want: { isReady: true },
  },
  { name: 'with Ready=True', node: nodeWith({ type: 'Ready', status: 'True' }), want: { isReady: true } },
  {
    name: 'with Ready=False',
    node: nodeWith({ type: 'Ready', status: 'False', lastTransitionTime: TIME }),
    want: { isReady: false, since: Date.parse(TIME) },
  },
  {
    name: 'with Ready=Unknown and no time',
    node: nodeWith({ type: 'Ready', status: 'Unknown' }),
    want: { isReady: false },
  },
])('the health of a node $name', ({ node, want }) => {
  expect(healthOf(node)).toEqual(want)
})

test.each([
  { name: 'True', node: nodeWith({ type: 'DiskPressure', status: 'True' }), want: true },
  {
    name: 'True after another condition',
    node: nodeWith({ type: 'Ready', status: 'False' }, { type: 'DiskPressure', status: 'True' }),
    want: true,
  },
  { name: 'without conditions', node: { metadata: {}, status: {} } as Node, want: false },
  { name: 'False', node: nodeWith({ type: 'DiskPressure', status: 'False' }), want: false },
  { name: 'absent', node: nodeWith({ type: 'Ready', status: 'True' }), want: false },
  { name: 'without a status', node: NO_STATUS, want: false },
])('a node with DiskPressure $name has disk pressure: $want', ({ node, want }) => {
  expect(hasDiskPressure(node)).toBe(want)
})

test.each([
  ['a node that is ready', makeNode('n1'), undefined],
  ['a node that is not ready', makeNode('n1', { unreadySince: at(-5) }), NOW + 5000],
  ['a node that does not tell since when', makeNode('n1', { unreadySince: 'never' }), NOW + 17_000],
])('when %s was not ready for ten seconds', (_, node, want) => {
  expect(unreadyFor(node, 10, NOW + 7000)).toBe(want)
})
