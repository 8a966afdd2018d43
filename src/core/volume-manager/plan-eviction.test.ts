import { describe, expect, test } from 'vitest'
import { makeVolume, makeVolumeManager, NOW } from '../../../test/builders.ts'
import {
  at,
  makeDeletion,
  makeEvictionInput,
  makeNode,
  makeReplica,
  nodeWithDisk,
  PATH,
} from '../../../test/volume-builders.ts'
import { VOLUME_SETTINGS } from '../../../test/volume-world.ts'
import type { Node } from '../../api/node.ts'
import { type VolumeConfig, type VolumeManager, volumeManagers } from '../../api/volume-manager.ts'
import type { DeletionStatus, ReplicaStatus } from '../../api/volume-status.ts'
import {
  type EvictionInput,
  evictingNodes,
  freeingNodes,
  fullNodes,
  planEviction,
  rootsToCollect,
} from './plan-eviction.ts'

const NODE = makeNode('n1')
const PRESSED = makeEvictionInput([]).node
const OTHER_PATH = '/var/datasets/vck-resource-5c2e-0123456789abc'
const FULL = nodeWithDisk({ root: '/var/datasets', freeBytes: 0, totalBytes: 10 ** 12, time: at(0) })
const EVICTABLE = { evictionPolicy: 'LeastRecentlyUsed' } as const
const RETRIED = { cause: 'Evicted', attempt: 2, failures: 1 } as const
const RESYNC = { ...EVICTABLE, options: { resync: 'true' } }

function manager(
  name: string,
  replica: Partial<ReplicaStatus>,
  config: Partial<VolumeConfig> = EVICTABLE,
  deletions: Partial<DeletionStatus>[] = [],
): VolumeManager {
  const replicas = [makeReplica(replica)]
  const volumes = [{ id: 'vol1', nodeAffinity: {}, replicas, deletions: deletions.map(makeDeletion), nextIndex: 5 }]
  return makeVolumeManager([config], { name, resourceVersion: '7', status: { volumes } })
}

const ofTenant = (one: VolumeManager): VolumeManager => ({ ...one, metadata: { ...one.metadata, namespace: 'tenant' } })

/** A VolumeManager whose movers found no room for data of these sizes, each of a shard. */
function failedFor(...sizes: number[]): VolumeManager {
  const replicas = sizes.map((totalBytes, index) => ({ ...makeReplica({ index, state: 'Failed' }), totalBytes }))
  const deletions = [makeDeletion({ cause: 'NoSpace' })]
  const volumes = [{ id: 'vol1', nodeAffinity: {}, replicas, deletions, nextIndex: 5 }]
  return makeVolumeManager([EVICTABLE], { name: 'large', status: { volumes } })
}

/** A VolumeManager with a volume without replicas and deletions. */
const withEmpty = makeVolumeManager([EVICTABLE], { status: { volumes: [{ id: 'vol1', nodeAffinity: {} }] } })

describe('a node that is short of disk', () => {
  test.each<{ name: string; managers: VolumeManager[]; more?: Partial<EvictionInput>; want: string | undefined }>([
    {
      name: 'loses the least recently used replica',
      managers: [
        manager('a', { lastUsedTime: at(-5), since: at(-99) }),
        manager('b', { lastUsedTime: at(-9), since: at(-99) }),
      ],
      want: 'default/b',
    },
    {
      name: 'loses the first by name of equal replicas',
      managers: [manager('c', {}), manager('a', {}), manager('b', {})],
      want: 'default/a',
    },
    {
      name: 'keeps data that is no longer in the spec, which is deleted anyway',
      managers: [manager('a', {}, { ...EVICTABLE, id: 'vol2' })],
      want: undefined,
    },
    {
      name: 'keeps data that only another volume allows to evict',
      managers: [
        { ...manager('a', {}), spec: { volumeConfigs: [makeVolume(), makeVolume({ ...EVICTABLE, id: 'b' })] } },
      ],
      want: undefined,
    },
    {
      name: 'keeps the directory of a Local volume',
      managers: [manager('a', { path: '/mnt/local/a' })],
      want: undefined,
    },
    {
      name: 'loses data among VolumeManagers and volumes without data',
      managers: [makeVolumeManager(), { ...makeVolumeManager(), status: {} }, withEmpty, manager('a', {})],
      want: 'default/a',
    },
    { name: 'keeps data when its volume does not allow eviction', managers: [manager('a', {}, {})], want: undefined },
    {
      name: 'keeps data when its volume forbids eviction',
      managers: [manager('a', {}, { evictionPolicy: 'Never' })],
      want: undefined,
    },
    {
      name: 'keeps data that is in use according to the status',
      managers: [manager('a', { inUse: true })],
      want: undefined,
    },
    {
      name: 'keeps data that a pod on the node uses now',
      managers: [manager('a', {})],
      more: { users: (path) => (path === PATH ? [{ pod: 'default/p', node: 'n1' }] : []) },
      want: undefined,
    },
    {
      name: 'loses data that a pod on another node uses',
      managers: [manager('a', {})],
      more: { users: () => [{ pod: 'default/p', node: 'n2' }] },
      want: 'default/a',
    },
    {
      name: 'loses data for which a pod waits last',
      managers: [manager('a', { path: PATH, since: at(-9) }), manager('b', { path: OTHER_PATH, since: at(-5) })],
      more: { users: (path) => (path === PATH ? [{ pod: 'default/p' }] : []) },
      want: 'default/b',
    },
    {
      name: 'loses data for which a pod waits, so that it comes to a node where the pod can run',
      managers: [manager('a', {})],
      more: { users: () => [{ pod: 'default/p' }] },
      want: 'default/a',
    },
    {
      name: 'keeps data for which a pod waits without disk pressure',
      managers: [manager('a', {}, EVICTABLE, [{ cause: 'NoSpace' }])],
      more: { node: NODE, users: () => [{ pod: 'default/p' }] },
      want: undefined,
    },
    {
      name: 'loses data while other data there cannot be deleted, since a pod uses it',
      managers: [manager('a', {}), manager('b', { node: 'n2' }, EVICTABLE, [{ state: 'Waiting', reason: 'InUse' }])],
      want: 'default/a',
    },
    {
      name: 'loses data while a tenant keeps the Pod of a mover, for which other data there waits',
      managers: [
        manager('a', {}),
        ofTenant(manager('b', { node: 'n2' }, EVICTABLE, [{ state: 'Waiting', reason: 'MoverRunning' }])),
      ],
      want: 'default/a',
    },
    {
      name: 'loses data while a deletion of another namespace fails there',
      managers: [manager('a', {}), ofTenant(manager('b', { node: 'n2' }, {}, [{ cause: 'Evicted', state: 'Failed' }]))],
      want: 'default/a',
    },
    {
      name: 'keeps the other data of a namespace whose deletion fails there',
      managers: [manager('a', {}), manager('b', { node: 'n2' }, {}, [{ cause: 'Evicted', state: 'Failed' }])],
      want: undefined,
    },
    {
      name: 'keeps all data while a deletion of another namespace waits for its mover',
      managers: [manager('a', {}), ofTenant(manager('b', { node: 'n2' }, {}, [{ cause: 'Evicted', state: 'Queued' }]))],
      want: undefined,
    },
    {
      name: 'loses data while a failed deletion of a tenant waits for its next mover',
      managers: [manager('a', {}), ofTenant(manager('b', { node: 'n2' }, {}, [{ ...RETRIED, state: 'Deleting' }]))],
      want: 'default/a',
    },
    {
      name: 'keeps the other data of a namespace whose failed deletion is retried',
      managers: [manager('a', {}), manager('b', { node: 'n2' }, {}, [{ ...RETRIED, state: 'Queued' }])],
      want: undefined,
    },
    {
      name: 'keeps all data while a later mover of a failed deletion runs',
      managers: [
        manager('a', {}),
        ofTenant(manager('b', { node: 'n2' }, {}, [{ ...RETRIED, state: 'Deleting', progressTime: at(-9) }])),
      ],
      want: undefined,
    },
    { name: 'keeps data on another node', managers: [manager('a', { node: 'n2' })], want: undefined },
    { name: 'keeps data that is not ready', managers: [manager('a', { state: 'Downloading' })], want: undefined },
    {
      name: 'keeps the changes of a volume that is written back',
      managers: [manager('a', { lastUsedTime: at(-5) }, RESYNC)],
      want: undefined,
    },
    {
      name: 'keeps the changes of a pod whose end is not recorded yet',
      managers: [manager('a', { since: at(-99) }, RESYNC)],
      more: { lastEnd: () => at(-5) },
      want: undefined,
    },
    {
      name: 'loses data whose changes are written back',
      managers: [manager('a', { lastUsedTime: at(-5), uploadedTime: at(-4) }, RESYNC)],
      want: 'default/a',
    },
    {
      name: 'keeps the data of a VolumeManager that is being deleted',
      managers: [{ ...manager('a', {}), metadata: { name: 'a', deletionTimestamp: at(0) } }],
      want: undefined,
    },
    {
      name: 'keeps all data while data on it is being deleted',
      managers: [manager('a', {}, EVICTABLE, [{ cause: 'Evicted' }])],
      want: undefined,
    },
    {
      name: 'keeps all data while data of another VolumeManager on it is being deleted',
      managers: [manager('a', {}), withEmpty, manager('b', { node: 'n2' }, {}, [{ cause: 'ScaledDown' }])],
      want: undefined,
    },
    {
      name: 'loses data while data on another node is being deleted',
      managers: [manager('a', {}, EVICTABLE, [{ cause: 'Evicted', node: 'n2' }])],
      want: 'default/a',
    },
    {
      name: 'loses data while only the rest of a failed download is being deleted',
      managers: [manager('a', {}, EVICTABLE, [{ cause: 'NoSpace' }])],
      want: 'default/a',
    },
    {
      name: 'counts as short of disk when a mover found no free disk',
      managers: [withEmpty, manager('a', {}, EVICTABLE, [{ cause: 'NoSpace' }])],
      more: { node: NODE },
      want: 'default/a',
    },
    {
      name: 'loses data for data that is smaller than the disk',
      managers: [failedFor(10 ** 12 - 2 ** 30), manager('a', {})],
      more: { node: FULL },
      want: 'default/a',
    },
    {
      name: 'loses no data for data that is larger than the disk with its reserve',
      managers: [failedFor(10 ** 12 - 2 ** 30 + 1), manager('a', {})],
      more: { node: FULL },
      want: undefined,
    },
    {
      name: 'loses data for data of which only another shard is larger than the disk',
      managers: [failedFor(10 ** 13, 10 ** 11), manager('a', {})],
      more: { node: FULL },
      want: 'default/a',
    },
    {
      name: 'loses data for large data on another disk',
      managers: [failedFor(10 ** 13), manager('b', {}, EVICTABLE, [{ cause: 'NoSpace', path: '/var/datasets/other' }])],
      more: { node: FULL },
      want: 'default/b',
    },
    {
      name: 'loses no data without disk pressure',
      managers: [manager('a', {})],
      more: { node: NODE },
      want: undefined,
    },
    {
      name: 'loses no data when eviction is disabled',
      managers: [manager('a', {})],
      more: { settings: { ...VOLUME_SETTINGS, eviction: { ...VOLUME_SETTINGS.eviction, enabled: false } } },
      want: undefined,
    },
  ])('$name', ({ managers, more = {}, want }) => {
    const plan = planEviction(makeEvictionInput(managers, more))

    expect(plan.evicted?.volumeManager).toBe(want)
    expect(plan.actions).toHaveLength(want ? 2 : 0)
  })

  describe('and whose movers report the disk', () => {
    const ROOT = '/var/datasets'
    const PAUSED = { lastAt: NOW - 60_000 }
    const reported = (freeBytes: number, seconds: number): Node =>
      nodeWithDisk({ root: ROOT, freeBytes, totalBytes: 100, time: at(seconds) }, PRESSED)
    const elsewhere = '/fast/vck-resource-4b1d-0123456789abc'

    test.each<{ name: string; node: Node; managers?: VolumeManager[]; want: string | undefined }>([
      { name: 'loses the next replica at once if it is still too full', node: reported(19, -59), want: 'default/a' },
      { name: 'waits for the pause if it is at the low watermark', node: reported(20, -59), want: undefined },
      { name: 'waits for the pause after a report that is older', node: reported(1, -60), want: undefined },
      {
        name: 'keeps replicas on another disk during the pause',
        node: reported(1, -59),
        managers: [manager('a', { path: elsewhere })],
        want: undefined,
      },
      {
        name: 'loses first what is on the full disk',
        node: reported(1, -59),
        managers: [manager('a', { path: elsewhere, since: at(-99) }), manager('b', { since: at(-9) })],
        want: 'default/b',
      },
    ])('$name', ({ node, managers = [manager('a', {})], want }) => {
      const settings = { ...VOLUME_SETTINGS, allowedRoots: [ROOT, '/fast'] }
      expect(planEviction(makeEvictionInput(managers, { ...PAUSED, node, settings })).evicted?.volumeManager).toBe(want)
    })
  })

  test('loses the next replica after the pause', () => {
    const plans = [-299, -300].map((s) =>
      planEviction(makeEvictionInput([manager('a', {})], { lastAt: NOW + s * 1000 })),
    )

    expect(plans.map(({ evicted, requeueAfterMs }) => [evicted?.volume, requeueAfterMs])).toEqual([
      [undefined, 1000],
      ['vol1', 300_000],
    ])
  })

  test('does not wait for the end of a pause that began before the clock was set back', () => {
    expect(planEviction(makeEvictionInput([manager('a', {})], { lastAt: NOW + 3_600_000 })).evicted?.volume).toBe(
      'vol1',
    )
  })

  test('has a deletion and an evicted replica in the status, and an Event', () => {
    const one = manager('a', { bytes: 9, nodeUID: 'u', lastUsedTime: at(-9) })
    const other = { id: 'vol2', nodeAffinity: {}, replicas: [makeReplica({ node: 'n2' })] }
    const before = { ...one, status: { volumes: [other, ...(one.status?.volumes ?? [])] } }

    const { actions } = planEviction(makeEvictionInput([before]))

    const [patch, event] = actions
    const evicted = { index: 0, state: 'Evicted', revision: 'r', path: PATH, attempt: 1, since: at(0) }
    const message = 'deleted on n1, which is short of disk'
    const replicas = [{ ...evicted, reason: 'DiskPressure', message, lastUsedTime: at(-9) }]
    const deletions = [
      expect.objectContaining({ index: 5, node: 'n1', path: PATH, cause: 'Evicted', state: 'Waiting' }),
    ]
    expect(patch).toEqual({
      kind: 'patch',
      of: { type: volumeManagers, namespace: 'default', name: 'a' },
      patch: {
        metadata: { resourceVersion: '7' },
        status: { volumes: [other, { id: 'vol1', nodeAffinity: {}, replicas, deletions, nextIndex: 6 }] },
      },
      subresource: 'status',
    })
    expect(event).toEqual({
      kind: 'event',
      about: before,
      type: 'Warning',
      reason: 'ReplicaEvicted',
      message: 'vol1 on n1: the node is short of disk, and no pod uses the data',
    })
  })
})

test('deletions name nodes on which a VolumeManager found no free disk, or frees it', () => {
  const one = manager('a', {}, EVICTABLE, [
    { node: 'n1', cause: 'NoSpace' },
    { node: 'n2', cause: 'Evicted' },
    { node: 'n3', cause: 'Abandoned' },
    { node: 'n4', cause: 'Removed', state: 'Waiting', reason: 'InUse' },
    { node: 'n5', cause: 'Evicted', state: 'Waiting', reason: 'Claim' },
    { node: 'n6', cause: 'Removed', state: 'Waiting', reason: 'MoverRunning' },
  ])

  expect([fullNodes(one), evictingNodes(one), freeingNodes(one)]).toEqual([['n1'], ['n2', 'n5'], ['n2', 'n3']])
  expect(evictingNodes(undefined)).toEqual([])
})

describe('a disk beyond a watermark', () => {
  const DEFAULT = {}
  const NEVER = { evictionPolicy: 'Never' } as const
  const ROOT = '/var/datasets'
  const unused = (seconds: number) => ({ since: at(-seconds) })
  const beyond = (managers: VolumeManager[], more: Partial<EvictionInput> = {}) =>
    planEviction(makeEvictionInput(managers, { node: NODE, collecting: new Set([ROOT]), ...more }))

  test.each<{ name: string; managers: VolumeManager[]; more?: Partial<EvictionInput>; want: string | undefined }>([
    {
      name: 'loses the least recently used replica of a volume that says nothing',
      managers: [manager('a', unused(700), DEFAULT), manager('b', unused(800), DEFAULT)],
      want: 'default/b',
    },
    {
      name: 'keeps replicas of volumes that say Never',
      managers: [manager('a', unused(700), DEFAULT), manager('b', unused(800), NEVER)],
      want: 'default/a',
    },
    { name: 'keeps replicas that were used lately', managers: [manager('a', unused(599), DEFAULT)], want: undefined },
    {
      name: 'keeps replicas in use',
      managers: [manager('a', unused(700), DEFAULT)],
      more: { users: () => [{ pod: 'a/b', node: 'n1' }] },
      want: undefined,
    },
    {
      name: 'keeps replicas for which a pod waits',
      managers: [manager('a', unused(700), DEFAULT)],
      more: { users: () => [{ pod: 'a/b' }] },
      want: undefined,
    },
    {
      name: 'keeps replicas below other roots',
      managers: [manager('a', { ...unused(700), path: '/fast/vck-resource-4b1d-0123456789abc' }, DEFAULT)],
      more: { settings: { ...VOLUME_SETTINGS, allowedRoots: [ROOT, '/fast'] } },
      want: undefined,
    },
    {
      name: 'keeps all replicas while data is being deleted',
      managers: [manager('a', unused(700), DEFAULT, [{ cause: 'Evicted' }])],
      want: undefined,
    },
    {
      name: 'loses the replica that a shortage of disk deletes first',
      managers: [manager('a', unused(800), DEFAULT), manager('b', unused(700))],
      more: { node: PRESSED },
      want: 'default/b',
    },
    {
      name: 'loses a replica although the pause of a shortage is not over',
      managers: [manager('a', unused(700), DEFAULT)],
      more: { node: PRESSED, lastAt: NOW - 1000 },
      want: 'default/a',
    },
  ])('$name', ({ managers, more, want }) => {
    expect(beyond(managers, more).evicted?.volumeManager).toBe(want)
  })

  test('is named as the cause, and checked again soon', () => {
    const plan = beyond([manager('a', unused(700), DEFAULT)])
    expect([plan.cause, plan.requeueAfterMs]).toEqual(['HighWatermark', 5000])
    expect(JSON.stringify(plan.actions)).toContain(
      'vol1 on n1: its disk is used beyond the high watermark, and no pod uses the data',
    )
    expect(beyond([]).requeueAfterMs).toBe(60_000)
  })

  test('is checked again when its first replica counts as unused', () => {
    const plan = beyond([manager('a', unused(570), DEFAULT), manager('b', unused(590), DEFAULT)])
    expect([plan.evicted, plan.requeueAfterMs]).toEqual([undefined, 10_000])
  })

  const node = (freeBytes: number): Node => nodeWithDisk({ root: ROOT, freeBytes, totalBytes: 100, time: at(0) })

  test.each<{ name: string; free: number; before?: string[]; eviction?: object; want: string[] }>([
    { name: 'beyond the high watermark is collected', free: 9, want: [ROOT] },
    { name: 'at the high watermark is not', free: 10, want: [] },
    { name: 'is collected until it is at the low watermark', free: 19, before: [ROOT], want: [ROOT] },
    { name: 'at the low watermark is not collected any more', free: 20, before: [ROOT], want: [] },
    {
      name: 'is not collected without a high watermark',
      free: 0,
      eviction: { highWatermarkPercent: undefined },
      want: [],
    },
    { name: 'is not collected when eviction is disabled', free: 0, eviction: { enabled: false }, want: [] },
  ])('$name', ({ free, before = [], eviction = {}, want }) => {
    const settings = {
      ...VOLUME_SETTINGS,
      eviction: { ...VOLUME_SETTINGS.eviction, highWatermarkPercent: 90, ...eviction },
    } as typeof VOLUME_SETTINGS
    expect([...rootsToCollect(node(free), settings, new Set(before))]).toEqual(want)
    expect([...rootsToCollect(NODE, settings, new Set(before))]).toEqual([])
  })
})
