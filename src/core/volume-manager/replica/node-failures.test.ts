import { describe, expect, test } from 'vitest'
import { NOW } from '../../../../test/builders.ts'
import { at } from '../../../../test/volume-builders.ts'
import type { NodeFailure } from '../../../api/volume-status.ts'
import { mayContinue, nodesToAvoid, recordNodeFailure } from './node-failures.ts'

const failed = (more: Partial<NodeFailure> = {}): NodeFailure => ({
  node: 'n1',
  reason: 'Unexpected',
  failures: 1,
  retryTime: at(60),
  ...more,
})

describe('a failure on a node', () => {
  test.each<{ name: string; known?: NodeFailure[]; bytes?: number; want: NodeFailure[] }>([
    { name: 'is the first one', want: [failed()] },
    {
      name: 'counts up for the same reason, with a longer back-off',
      known: [failed()],
      want: [failed({ failures: 2, retryTime: at(120) })],
    },
    {
      name: 'starts again after progress',
      known: [failed({ failures: 5, bytes: 6 })],
      bytes: 7,
      want: [failed({ bytes: 7 })],
    },
    {
      name: 'is no progress with the same bytes, also for another reason',
      known: [failed({ reason: 'Stalled', bytes: 7 }), failed({ failures: 1, bytes: 5 })],
      bytes: 7,
      want: [failed({ reason: 'Stalled', bytes: 7 }), failed({ failures: 2, bytes: 7, retryTime: at(120) })],
    },
    {
      name: 'keeps the bytes on the node if its mover failed before it counted them',
      known: [failed({ bytes: 7 })],
      want: [failed({ failures: 2, bytes: 7, retryTime: at(120) })],
    },
    {
      name: 'has no bytes after the replica left the node',
      known: [failed({ failures: 3, bytes: 7 })],
      want: [failed({ failures: 4, retryTime: at(480) })],
    },
    {
      name: 'has no bytes of another node',
      known: [failed({ node: 'n2', bytes: 7 })],
      want: [failed({ node: 'n2', bytes: 7 }), failed()],
    },
    {
      name: 'is counted apart for another reason and for another node',
      known: [failed({ reason: 'Stalled' }), failed({ node: 'n2' })],
      want: [failed({ reason: 'Stalled' }), failed({ node: 'n2' }), failed()],
    },
    {
      name: 'is delayed by an hour at most',
      known: [failed({ failures: 50 })],
      want: [failed({ failures: 51, retryTime: at(3600) })],
    },
  ])('$name', ({ known, bytes = 0, want }) => {
    expect(recordNodeFailure(known, { node: 'n1', reason: 'Unexpected', bytes }, NOW)).toEqual(want)
  })

  test('drops the oldest entry beyond sixteen', () => {
    const known = Array.from({ length: 16 }, (_, i) => failed({ node: `old${i}` }))

    expect(recordNodeFailure(known, { node: 'n1', reason: 'Unexpected', bytes: 0 }, NOW)).toEqual([
      ...known.slice(1),
      failed(),
    ])
  })
})

test.each([
  { name: 'not without data', failures: [failed()], want: false },
  { name: 'with a part of the data', failures: [failed({ bytes: 1 })], want: true },
  { name: 'not after three failures without progress', failures: [failed({ bytes: 1, failures: 3 })], want: false },
  { name: 'by the last failure', failures: [failed({ bytes: 1 }), failed({ node: 'n2' })], want: false },
  { name: 'not without a failure', failures: [], want: false },
])('the next attempt continues on the node: $name', ({ failures, want }) => {
  expect(mayContinue(failures)).toBe(want)
})

describe('the next mover avoids', () => {
  test.each<{ name: string; failures: NodeFailure[]; free: string[]; want: string[] }>([
    { name: 'no node without failures', failures: [], free: ['n1'], want: [] },
    {
      name: 'each failed node while another node is free',
      failures: [failed({ retryTime: at(-9) })],
      free: ['n1', 'n2'],
      want: ['n1'],
    },
    {
      name: 'nodes in back-off when each free node has failures',
      failures: [failed(), failed({ node: 'n2', retryTime: at(0) })],
      free: ['n1', 'n2'],
      want: ['n1'],
    },
    {
      name: 'all but the node whose back-off ends first',
      failures: [failed({ retryTime: at(9) }), failed({ node: 'n2', retryTime: at(8) })],
      free: ['n1', 'n2'],
      want: ['n1'],
    },
    {
      name: 'a node until its longest back-off ends',
      failures: [
        failed({ retryTime: at(9) }),
        failed({ reason: 'Stalled', retryTime: at(5) }),
        failed({ node: 'n2', retryTime: at(8) }),
      ],
      free: ['n1', 'n2'],
      want: ['n1'],
    },
    { name: 'each failed node when no node is free', failures: [failed({ retryTime: at(9) })], free: [], want: [] },
  ])('$name', ({ failures, free, want }) => {
    expect([...nodesToAvoid(failures, new Set(free), NOW)]).toEqual(want)
  })
})
