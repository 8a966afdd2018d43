import { describe, expect, test } from 'vitest'
import { makeVolume, makeVolumeManager, NOW } from '../../../../test/builders.ts'
import { asTask, at, makeDeletion, makeMover, makeReplica, moversOf } from '../../../../test/volume-builders.ts'
import { VOLUME_SETTINGS } from '../../../../test/volume-world.ts'
import type { Pod, PodStatus } from '../../../api/pod.ts'
import type { VolumeManager } from '../../../api/volume-manager.ts'
import type { ReplicaStatus } from '../../../api/volume-status.ts'
import type { MoverTask } from '../mover/task.ts'
import { moverName } from '../rules/names.ts'
import { moverToPreempt, overdueMovers, type PreemptionInput } from './preemption.ts'

const RUNNING = { phase: 'Running' } as const
const UNSCHEDULABLE: PodStatus = { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False' }] }
const withStatus = (...replicas: ReplicaStatus[]): VolumeManager =>
  makeVolumeManager([{}], { status: { volumes: [{ id: 'vol1', nodeAffinity: {}, replicas }] } })

describe('a mover may be preempted', () => {
  const downloading = (more: Partial<ReplicaStatus> = {}) => makeReplica({ state: 'Downloading', ...more })
  const ready = (more: Partial<ReplicaStatus>) => makeReplica({ state: 'Ready', ...more })
  const work = { attempt: 1, since: at(-1800) }
  const slow = { attempt: 1, bytes: 1, files: 0, bytesPerSecond: 100 }

  test.each<{ name: string; replica: ReplicaStatus; pod?: Pod; progress?: object; want: boolean }>([
    { name: 'after 30 minutes', replica: downloading({ since: at(-1800) }), want: true },
    { name: 'not before that', replica: downloading({ since: at(-1799) }), want: false },
    {
      name: 'only after twice the time, when one for the same work was preempted before',
      replica: downloading({ since: at(-3599), preemptions: 1 }),
      want: false,
    },
    {
      name: 'after eight times the time at most',
      replica: downloading({ since: at(-14_400), preemptions: 99 }),
      want: true,
    },
    { name: 'after 5 minutes, if it is slow', replica: downloading({ since: at(-300) }), progress: slow, want: true },
    {
      name: 'not before that, even if it is slow',
      replica: downloading({ since: at(-299) }),
      progress: slow,
      want: false,
    },
    {
      name: 'not after 5 minutes at the minimum rate',
      replica: downloading({ since: at(-300) }),
      progress: { ...slow, bytesPerSecond: 65_536 },
      want: false,
    },
    {
      name: 'not for its rate before the end of the first window',
      replica: downloading({ since: at(-300) }),
      want: false,
    },
    { name: 'not before it runs', replica: downloading({ since: at(-9999) }), pod: makeMover(), want: false },
    {
      name: 'after 5 minutes in which no node had room for it, however often that happened',
      replica: makeReplica({ state: 'Starting', since: at(-301), preemptions: 9 }),
      pod: makeMover({}, UNSCHEDULABLE),
      want: true,
    },
    {
      name: 'not before that, although no node has room',
      replica: makeReplica({ state: 'Starting', since: at(-300) }),
      pod: makeMover({}, UNSCHEDULABLE),
      want: false,
    },
    {
      name: 'not while it is being deleted',
      replica: downloading({ since: at(-9999) }),
      pod: { ...makeMover({}, RUNNING), metadata: { ...makeMover().metadata, deletionTimestamp: at(0) } },
      want: false,
    },
    {
      name: 'as an upload',
      replica: ready({ upload: { ...work, state: 'Uploading' } }),
      pod: asRole('upload'),
      want: true,
    },
    {
      name: 'as a refresh',
      replica: ready({ maintenance: { ...work, kind: 'Refresh', state: 'Running' } }),
      pod: asRole('maintenance'),
      want: true,
    },
    {
      name: 'not as a check',
      replica: ready({ maintenance: { ...work, kind: 'Check', state: 'Running' } }),
      pod: asRole('maintenance'),
      want: false,
    },
  ])('$name', ({ replica, pod = makeMover({}, RUNNING), progress, want }) => {
    const name = pod.metadata.name ?? ''
    const overdue = overdueMovers({
      manager: withStatus(replica),
      movers: moversOf(pod),
      progress: new Map(progress ? [[name, progress as never]] : []),
      settings: VOLUME_SETTINGS.movers,
      now: NOW,
    })

    expect(overdue.map(({ metadata }) => metadata.name)).toEqual(want ? [name] : [])
  })

  test('not as a deletion', () => {
    const manager = withStatus()
    const deletions = [makeDeletion({ state: 'Deleting', since: at(-9999) })]
    const deleting = { ...manager, status: { volumes: [{ id: 'vol1', nodeAffinity: {}, deletions }] } }
    const movers = moversOf(asRole('deletion', 1))
    const input = { manager: deleting, movers, progress: new Map(), settings: VOLUME_SETTINGS.movers, now: NOW }

    expect(overdueMovers(input)).toEqual([])
  })

  function asRole(role: MoverTask['role'], index = 0): Pod {
    const pod = asTask({ role, index }, makeMover({}, RUNNING))
    const name = moverName(withStatus(), { id: 'vol1', role, index, attempt: 1 })
    return { ...pod, metadata: { ...pod.metadata, name } }
  }
})

describe('of the movers that may be preempted,', () => {
  const { node: _, ...unpinned } = makeReplica({ state: 'Queued' })
  const waits = (namespace: string, more: Partial<ReplicaStatus> = {}): VolumeManager => {
    const volumes = [{ id: 'vol1', nodeAffinity: {}, replicas: [{ ...unpinned, ...more }] }]
    const manager = makeVolumeManager([], { status: { volumes } })
    return { ...manager, metadata: { namespace, name: 'waits' }, spec: { volumeConfigs: [makeVolume()] } }
  }
  let count = 0
  const runs = (namespace: string, node: string, more: Pod['metadata'] = {}): Pod => {
    const pod = asTask({ manager: `${namespace}/running` }, makeMover({}, RUNNING, node))
    const labels = { 'lodestone.dev/mover-slot': String(count++ % 2) }
    return { ...pod, metadata: { ...pod.metadata, namespace, labels, name: `${namespace}-${count}`, ...more } }
  }
  const [first, second, third] = [runs('a', 'n1'), runs('a', 'n1'), runs('a', 'n2')]
  const own = [first, second, third]
  const check = makeReplica({ maintenance: { kind: 'Check', state: 'Queued', attempt: 1, since: at(0) } })

  test.each<{ name: string; waiting: VolumeManager[]; more?: Partial<PreemptionInput>; want?: Pod }>([
    { name: 'none is while no mover waits', waiting: [] },
    { name: 'none is while only movers of its namespace wait', waiting: [waits('a')] },
    { name: 'the first is when a namespace without movers waits', waiting: [waits('b')], want: first },
    { name: 'none is while the cluster has a free slot', waiting: [waits('b')], more: limits(4, 9) },
    {
      name: 'none is when the namespace that waits has as many movers',
      waiting: [waits('b')],
      more: { ...limits(6, 9), active: [...own, runs('b', 'n3'), runs('b', 'n3'), runs('b', 'n4')] },
    },
    {
      name: 'none is when another one is being stopped already',
      waiting: [waits('b')],
      more: { isStopping: (pod) => pod === third },
    },
    {
      name: 'none is when the Pod of another one is being deleted already',
      waiting: [waits('b')],
      more: { active: [first, second, runs('a', 'n2', { deletionTimestamp: at(0) })] },
    },
    { name: 'none is for a check', waiting: [waits('b', check)] },
    { name: 'none is for a mover that cannot start', waiting: [waits('b')], more: { isBlocked: () => true } },
    {
      name: 'none is for a mover of a full node that stays full',
      waiting: [waits('b', { node: 'n9' })],
      more: full('n9'),
    },
    {
      name: 'the one on a full node is for a mover with data on that node',
      waiting: [waits('b', { node: 'n2' })],
      more: { ...limits(9, 1), active: own },
      want: third,
    },
    {
      name: 'the one on a full node is for a mover that found no node and may run there',
      waiting: [waits('b', { reason: 'NoNode' })],
      more: { ...limits(9, 1), couldRunOn: (_entry, node) => node === 'n2' },
      want: third,
    },
    {
      name: 'none is for a mover that found no node and may not run there',
      waiting: [waits('b', { reason: 'NoNode' })],
      more: limits(9, 1),
    },
  ])('$name', ({ waiting, more, want }) => {
    const found = moverToPreempt(own, {
      waiting,
      active: own,
      served: new Map(),
      now: NOW,
      ...limits(3, 9),
      isStopping: () => false,
      couldRunOn: () => false,
      ...more,
    })

    expect(found?.metadata.name).toBe(want?.metadata.name)
  })

  function limits(maxInAll: number, maxPerNode: number): Pick<PreemptionInput, 'settings'> {
    return { settings: { maxInAll, maxPerNode } }
  }

  function full(node: string): Partial<PreemptionInput> {
    return { ...limits(5, 2), active: [...own, runs('c', node), runs('c', node)] }
  }
})
