import { describe, expect, test } from 'vitest'
import { MOVER_LANE_LABEL } from '../../../api/lodestone.ts'
import type { Pod } from '../../../api/pod.ts'
import { openLanes } from './slots.ts'

/** A mover in a lane, on a node or still without one. */
function mover(lane: number | undefined, nodeName?: string, status: Pod['status'] = {}): Pod {
  const labels = lane === undefined ? {} : { [MOVER_LANE_LABEL]: String(lane) }
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
  test('a free lane is taken, until there is none', () => {
    const lanes = openLanes([mover(0, 'n1')], 3)

    expect([lanes.takeOn('n1'), lanes.takeOn('n1'), lanes.takeOn('n1')]).toEqual([1, 2, undefined])
    expect([lanes.isFull('n1'), lanes.isFull('n2')]).toEqual([true, false])
  })

  test('a mover that is bound to come counts, and so does one of which no lane is known', () => {
    const pinned = mover(1)
    const matchFields = [{ key: 'metadata.name', operator: 'In', values: ['n1'] }]
    pinned.spec.affinity = {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields }] } },
    }
    expect(openLanes([pinned, mover(undefined, 'n1')], 2).isFull('n1')).toBe(true)
    expect(openLanes([pinned], 2).takeOn('n1')).toBe(0)
  })

  test('fewer lanes than before let those that run come to their end', () => {
    expect(openLanes([mover(0, 'n1'), mover(1, 'n1')], 1).isFull('n1')).toBe(true)
    expect(openLanes([mover(4, 'n1')], 1).isFull('n1')).toBe(true)
  })
})

describe('on any of several nodes', () => {
  test.each([
    { name: 'with nobody there', active: [], want: [0, 1, 0, 1, undefined] },
    { name: 'the emptiest first', active: [mover(0, 'n1')], want: [1, 0, 1, undefined] },
    { name: 'counting those that are not placed', active: [mover(0), mover(1)], want: [0, 1, undefined] },
    {
      name: 'not counting those that are elsewhere, or nowhere',
      active: [mover(0, 'n3'), mover(0, undefined, UNSCHEDULABLE)],
      want: [0, 1, 0, 1, undefined],
    },
  ])('lanes are taken evenly: $name', ({ active, want }) => {
    const lanes = openLanes(active, 2)

    expect(want.map(() => lanes.takeAmong(NODES))).toEqual(want)
  })

  test('of no nodes none is taken', () => {
    expect(openLanes([], 2).takeAmong(new Set())).toBeUndefined()
  })
})
