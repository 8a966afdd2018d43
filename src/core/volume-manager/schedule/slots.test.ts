import { describe, expect, test } from 'vitest'
import { MOVER_SLOT_LABEL } from '../../../api/lodestone.ts'
import type { Pod } from '../../../api/pod.ts'
import { openNodeSlots } from './slots.ts'

/** A mover in a slot, on a node or without one yet. */
function mover(slot: number | undefined, nodeName?: string, status: Pod['status'] = {}): Pod {
  const labels = slot === undefined ? {} : { [MOVER_SLOT_LABEL]: String(slot) }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { labels },
    spec: { containers: [], ...(nodeName && { nodeName }) },
    status,
  }
}

const NODES = new Set(['n1', 'n2'])
const UNSCHEDULABLE = { conditions: [{ type: 'PodScheduled', status: 'False' }] }

describe('on one node', () => {
  test('free slots are taken until the node is full', () => {
    const slots = openNodeSlots([mover(0, 'n1')], 3)

    expect([slots.takeOn('n1'), slots.takeOn('n1'), slots.takeOn('n1')]).toEqual([1, 2, undefined])
    expect([slots.isFull('n1'), slots.isFull('n2')]).toEqual([true, false])
  })

  test('a mover that is pinned to the node counts, and so does one without a known slot', () => {
    const pinned = mover(1)
    const matchFields = [{ key: 'metadata.name', operator: 'In', values: ['n1'] }]
    pinned.spec.affinity = {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields }] } },
    }
    expect(openNodeSlots([pinned, mover(undefined, 'n1')], 2).isFull('n1')).toBe(true)
    expect(openNodeSlots([pinned], 2).takeOn('n1')).toBe(0)
  })

  test('the slots of movers that may still be placed there are taken last', () => {
    const slots = openNodeSlots([mover(0), mover(1, 'n1')], 3)

    expect([slots.takeOn('n1'), slots.takeOn('n1'), slots.takeOn('n1')]).toEqual([2, 0, undefined])
  })

  test('with fewer slots than before, running movers count until they end', () => {
    expect(openNodeSlots([mover(0, 'n1'), mover(1, 'n1')], 1).isFull('n1')).toBe(true)
    expect(openNodeSlots([mover(4, 'n1')], 1).isFull('n1')).toBe(true)
  })
})

describe('on any of several nodes', () => {
  test.each([
    { name: 'with no mover there', active: [], want: [0, 1, 0, 1, undefined] },
    { name: 'the emptiest first', active: [mover(0, 'n1')], want: [1, 0, 1, undefined] },
    { name: 'counting movers that are not placed', active: [mover(0), mover(1)], want: [0, 1, undefined] },
    {
      name: 'not counting movers that are on other nodes or unschedulable',
      active: [mover(0, 'n3'), mover(0, undefined, UNSCHEDULABLE)],
      want: [0, 1, 0, 1, undefined],
    },
  ])('slots are taken evenly: $name', ({ active, want }) => {
    const slots = openNodeSlots(active, 2)

    expect(want.map(() => slots.takeAmong(NODES))).toEqual(want)
  })

  test('no slot is taken without nodes', () => {
    expect(openNodeSlots([], 2).takeAmong(new Set())).toBeUndefined()
  })
})
