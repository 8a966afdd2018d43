/** Tests the order of namespaces directly. shares-properties.test.ts tests it with random tenants. */
import { expect, test } from 'vitest'
import { makeVolumeManager } from '../../../../test/builders.ts'
import { type QueueEntry, RANK } from './queue.ts'
import { addTo, collect, openOrder, shareKey } from './turns.ts'

/** An entry `namespace/name` that waits since then, on a node or anywhere. */
const entry = (manager: string, since: number, node?: string, rank: QueueEntry['rank'] = RANK.ready): QueueEntry => {
  const [namespace = ''] = manager.split('/')
  return { manager, namespace, since, node, rank, id: 'vol1', role: 'replica', index: 0, priority: 0, notBefore: 0 }
}

interface Case {
  name: string
  entries: QueueEntry[]
  /** The movers that run: namespace and node. */
  running?: [string, string][]
  served?: Record<string, number>
  full?: string[]
  want: string[]
}

test.each<Case>([
  {
    name: 'alternates between namespaces',
    entries: [entry('a/1', 0), entry('a/2', 1), entry('b/1', 2), entry('b/2', 3)],
    want: ['a/1', 'b/1', 'a/2', 'b/2'],
  },
  {
    name: 'begins with the namespace that has fewer movers in the cluster',
    entries: [entry('a/1', 0), entry('b/1', 9)],
    running: [['a', 'n1']],
    want: ['b/1', 'a/1'],
  },
  {
    name: 'gives a node to the namespace with fewer movers there, although it has more elsewhere',
    entries: [entry('a/1', 0, 'n1'), entry('b/1', 9, 'n1')],
    running: [
      ['a', 'n1'],
      ['b', 'n2'],
      ['b', 'n3'],
    ],
    want: ['b/1', 'a/1'],
  },
  {
    name: 'counts the wait of a namespace since its last mover was started',
    entries: [entry('a/1', 0), entry('b/1', 5)],
    served: { a: 9 },
    want: ['b/1', 'a/1'],
  },
  {
    name: 'leaves out entries of full nodes',
    entries: [entry('a/1', 0, 'n1'), entry('a/2', 1, 'n2')],
    full: ['n1'],
    want: ['a/2'],
  },
  {
    name: 'puts stuck downloads last, in every namespace',
    entries: [entry('a/1', 0, undefined, RANK.stuck), entry('b/1', 9), entry('b/2', 9)],
    want: ['b/1', 'b/2', 'a/1'],
  },
])('the order $name', ({ entries, running = [], served = {}, full = [], want }) => {
  const counts = new Map<string, number>()
  for (const [namespace, node] of running) addTo(counts, namespace, node)
  const order = openOrder(
    collect([makeVolumeManager()], 9, () => entries),
    {
      counts,
      served: new Map(Object.entries(served)),
      isFull: (node) => full.includes(node),
      isStartable: () => true,
    },
  )
  const got = Array.from({ length: entries.length }, () => order.next()?.manager)
  expect(got.filter((manager) => manager !== undefined)).toEqual(want)
  expect(order.next()).toBeUndefined()
})

test('a share on a node is another one than that in the cluster', () => {
  expect(shareKey('a')).not.toBe(shareKey('a', 'n1'))
})
