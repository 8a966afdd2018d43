import { describe, expect, test } from 'vitest'
import { makeVolume, makeVolumeManager, NOW } from '../../../../test/builders.ts'
import { makeMover } from '../../../../test/volume-builders.ts'
import type { Pod } from '../../../api/pod.ts'
import type { VolumeManager } from '../../../api/volume-manager.ts'
import type { ReplicaStatus, VolumeStatus } from '../../../api/volume-status.ts'
import { toTime } from '../../../base/time/timestamp.ts'
import { isInQueue } from './queue.ts'
import { firstManagers, grantSlots, moverAllowance, type SharesInput } from './shares.ts'

const queued = (since: number, more: Partial<ReplicaStatus> = {}): ReplicaStatus => ({
  index: since,
  state: 'Queued',
  revision: 'r',
  attempt: 1,
  since: toTime(NOW + since * 1000),
  ...more,
})
const pinned = (since: number) => queued(since, { node: 'n1' })
const ready = (more: Partial<ReplicaStatus> = {}) => queued(0, { state: 'Ready', ...more })
const deletion = (since: number, state: 'Queued' | 'Waiting' = 'Queued') => ({
  index: since,
  node: 'n1',
  path: '/data',
  nodeLabels: [],
  revision: 'r',
  cause: 'ScaledDown',
  attempt: 1,
  state,
  since: toTime(NOW + since * 1000),
})
const upload = (since: number) => ready({ upload: { state: 'Queued', attempt: 1, since: toTime(NOW + since * 1000) } })
const check = (since: number) =>
  ready({ maintenance: { kind: 'Check', state: 'Queued', attempt: 1, since: toTime(NOW + since * 1000) } })

function manager(name: string, volume: Partial<VolumeStatus>, priority?: number): VolumeManager {
  const { spec, ...rest } = makeVolumeManager()
  const volumeConfigs = [makeVolume(priority === undefined ? {} : { priority })]
  return {
    ...rest,
    metadata: { namespace: 'default', name },
    spec: { ...spec, volumeConfigs },
    status: { volumes: [{ id: 'vol1', nodeAffinity: {}, ...volume }] },
  }
}

function input(waiting: VolumeManager[], more: Partial<SharesInput> = {}): SharesInput {
  const settings = { maxInAll: 10, maxPerNode: 10 }
  return { waiting, active: [], served: new Map(), settings, now: NOW, ...more }
}

/** The VolumeManagers of the first entries. */
function firstEntries(waiting: VolumeManager[], count: number): string[] {
  const settings = { maxInAll: count, maxPerNode: 10 }
  return grantSlots(input(waiting, { settings }), () => true).granted.map(({ manager }) => manager)
}

describe('the queue of movers of a namespace', () => {
  test.each<{ name: string; waiting: VolumeManager[]; want: string[] }>([
    { name: 'is empty when no mover waits', waiting: [manager('a', { replicas: [ready()] })], want: [] },
    {
      name: 'has the entry with the longest wait first',
      waiting: [manager('a', { replicas: [queued(5)] }), manager('b', { replicas: [queued(3)] })],
      want: ['b', 'a'],
    },
    {
      name: 'has the higher priority first, regardless of waiting times',
      waiting: [manager('a', { replicas: [queued(0)] }, 1), manager('b', { replicas: [queued(9)] }, 2)],
      want: ['b', 'a'],
    },
    {
      name: 'has deletions first, regardless of priorities',
      waiting: [manager('a', { replicas: [queued(0)] }, 100), manager('b', { deletions: [deletion(9)] })],
      want: ['b', 'a'],
    },
    {
      name: 'has the older of two deletions first',
      waiting: [manager('a', { deletions: [deletion(9)] }, 100), manager('b', { deletions: [deletion(8)] })],
      want: ['b', 'a'],
    },
    {
      name: 'has uploads at the priority of their volume',
      waiting: [manager('a', { replicas: [upload(9)] }, 1), manager('b', { replicas: [queued(0)] })],
      want: ['a', 'b'],
    },
    {
      name: 'has checks last, regardless of priorities and of entries that could not start',
      waiting: [
        manager('a', { replicas: [check(0)] }, 9),
        manager('b', { replicas: [queued(9, { reason: 'NoNode' })] }),
      ],
      want: ['b', 'a'],
    },
    {
      name: 'has the older of two checks first',
      waiting: [manager('a', { replicas: [check(9)] }), manager('b', { replicas: [check(8)] })],
      want: ['b', 'a'],
    },
    {
      name: 'has entries that could not start last',
      waiting: [
        manager('a', { replicas: [queued(0, { reason: 'NoNode' })] }, 9),
        manager('b', { replicas: [queued(9, { reason: 'Demanded' })] }),
      ],
      want: ['b', 'a'],
    },
    {
      name: 'has one entry for each waiting mover, and none for a deletion that may not start',
      waiting: [
        manager('a', { replicas: [pinned(1), pinned(3)], deletions: [deletion(0, 'Waiting')] }),
        manager('b', { replicas: [queued(2)] }),
      ],
      want: ['a', 'b', 'a'],
    },
    {
      name: 'has one entry for the replicas of a volume that start one after the other',
      waiting: [manager('a', { replicas: [queued(3), queued(1)] }), manager('b', { replicas: [queued(2)] })],
      want: ['a', 'b'],
    },
    {
      name: 'has the VolumeManager with the first entry first',
      waiting: [manager('a', { replicas: [pinned(9), pinned(1)] }), manager('b', { replicas: [queued(5)] })],
      want: ['a', 'b', 'a'],
    },
    {
      name: 'has only the replicas that wait',
      waiting: [
        manager('a', { replicas: [ready(), queued(1)] }),
        { ...makeVolumeManager(), metadata: { namespace: 'default', name: 'new' } },
        manager('empty', {}),
      ],
      want: ['a'],
    },
    {
      name: 'has a volume that is no longer in the spec without its priority',
      waiting: [
        manager('a', { id: 'old', replicas: [queued(0)] }, 100),
        manager('b', { replicas: [queued(9)] }, 1),
        manager('c', { replicas: [queued(10)] }),
      ],
      want: ['b', 'a', 'c'],
    },
    {
      name: 'is sorted by name among equal entries',
      waiting: [manager('b', { replicas: [queued(1)] }), manager('a', { replicas: [queued(1)] })],
      want: ['a', 'b'],
    },
  ])('$name', ({ waiting, want }) => {
    const keys = want.map((name) => `default/${name}`)

    expect(firstEntries(waiting, 10)).toEqual(keys)
    expect(firstEntries([...waiting].reverse(), 10)).toEqual(keys)
    expect(firstEntries(waiting, 1)).toEqual(keys.slice(0, 1))
    expect(firstManagers(input(waiting), 10)).toEqual([...new Set(keys)])
    expect(waiting.some(isInQueue)).toBe(want.length > 0)
  })

  test('is read again only for the VolumeManagers that changed', () => {
    let reads = 0
    const counted = (name: string, since: number): VolumeManager => {
      const { status, ...rest } = manager(name, { replicas: [queued(since)] })
      const get = () => {
        reads++
        return status
      }
      return Object.defineProperty({ ...rest }, 'status', { get }) as VolumeManager
    }
    const waiting = Array.from({ length: 1000 }, (_, i) => counted(`m${i}`, 1000 - i))
    firstEntries(waiting, 20)
    const readsOfAll = reads
    waiting[7] = counted('changed', -1)

    const [first] = firstEntries(waiting, 20)
    firstManagers(input(waiting), 4)

    expect(first).toBe('default/changed')
    expect([readsOfAll, reads]).toEqual([1000, 1001])
  })
})

test.each([
  { name: 'deletions', volume: { deletions: [1, 2, 3].map((since) => deletion(since)) } },
  { name: 'uploads', volume: { replicas: [1, 2, 3].map((since) => ({ ...upload(since), node: 'n1' })) } },
  { name: 'checks', volume: { replicas: [1, 2, 3].map((since) => ({ ...check(since), node: 'n1' })) }, of: check },
])('$name on a node with its limit of movers delay no other VolumeManager', ({ volume, of = queued }) => {
  const waiting = [manager('a', volume), manager('b', { replicas: [of(9)] })]
  const running = makeMover({}, { phase: 'Running' }, 'n1')
  const slotsWith = (maxPerNode: number) =>
    ['default/a', 'default/b'].map((name) => {
      const settings = { maxInAll: 9, maxPerNode }
      return moverAllowance(name, input(waiting, { active: [running], settings })).slots
    })

  expect([slotsWith(1), slotsWith(2)]).toEqual([
    [0, 1],
    [1, 1],
  ])
})

test.each([
  { name: 'as many as it has entries among the free slots', maxInAll: 3, active: 1, want: 1 },
  { name: 'all of its entries while there are slots', maxInAll: 9, active: 1, want: 2 },
  { name: 'none while all slots are taken', maxInAll: 3, active: 3, want: 0 },
  { name: 'none while more movers run than are allowed now', maxInAll: 3, active: 5, want: 0 },
])('a VolumeManager may start $name', ({ maxInAll, active, want }) => {
  const waiting = [manager('a', { replicas: [pinned(1), pinned(3)] }), manager('b', { replicas: [queued(2)] })]
  const movers = Array.from(
    { length: active },
    (): Pod => ({ apiVersion: 'v1', kind: 'Pod', metadata: {}, spec: { containers: [] } }),
  )
  const settings = { maxInAll, maxPerNode: 10 }

  expect(moverAllowance('default/a', input(waiting, { active: movers, settings }))).toEqual({
    slots: want,
    onNodes: new Map(want > 0 ? [['n1', want]] : []),
    active: movers,
  })
})

test.each([
  { name: 'a download that could not start either', replica: queued(9, { reason: 'NoNode' }) },
  { name: 'a check', replica: check(9) },
])('VolumeManagers that match no node keep no slot free that $name could use', ({ replica }) => {
  const matchless = [1, 2, 3].map((since) =>
    manager(`m${since}`, { replicas: [queued(since, { reason: 'NoNode' })] }, 9),
  )
  const waiting = [...matchless, manager('last', { replicas: [replica] })]
  const settings = { maxInAll: 1, maxPerNode: 10 }

  expect(moverAllowance('default/last', input(waiting, { settings })).slots).toBe(1)
})
