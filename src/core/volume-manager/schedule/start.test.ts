import { describe, expect, test } from 'vitest'
import { makeVolumeManager, NOW } from '../../../../test/builders.ts'
import { at, makeDeletion, makeMover, makeReplica, makeVolumeInput } from '../../../../test/volume-builders.ts'
import type { VolumeConfig, VolumeManager, VolumeStatus } from '../../../api/volume-manager.ts'
import type { VolumeManagerInput } from '../input.ts'
import { readTask } from '../mover/task.ts'
import { planVolume } from '../replica/volume-plan.ts'
import { directoryOf } from '../spec/names.ts'
import { revisionOf } from '../spec/source-types.ts'
import { startMovers } from './start.ts'

const [config] = makeVolumeManager().spec.volumeConfigs as [VolumeConfig]
const current = { revision: revisionOf(config) }
const path = directoryOf(makeVolumeManager(), config)
const UNSCHEDULABLE = { conditions: [{ type: 'PodScheduled', status: 'False' }] }
const queued = makeReplica({ ...current, path, state: 'Queued', node: undefined as never })

/** Plans the volumes of a manager with this status, and starts what may start. */
function start(
  volumes: Partial<VolumeStatus>[],
  {
    configs = [{}] as Partial<VolumeConfig>[],
    ...more
  }: Partial<VolumeManagerInput> & { configs?: Partial<VolumeConfig>[] } = {},
) {
  const status = volumes.map((volume, i) => ({ id: `vol${i + 1}`, nodeAffinity: {}, nextIndex: 10, ...volume }))
  const manager: VolumeManager = makeVolumeManager(configs, { status: { volumes: status } })
  const input = { ...makeVolumeInput({ manager }), ...more }
  const plans = manager.spec.volumeConfigs.map((one) => planVolume(input, one.id, one, 'present'))
  const started = startMovers(input, plans)
  return {
    tasks: started.pods.map((pod) => {
      const { id, role, index } = readTask(pod) ?? {}
      return `${id} ${role} ${index}`
    }),
    sets: started.plans.map(({ set }) => set),
  }
}

const slots = (count: number) => ({ allowance: { slots: count, active: [] } })

describe('a replica that waits', () => {
  test('is started, and looked at when its mover may have found a node', () => {
    const { tasks, sets } = start([{ replicas: [queued] }])

    expect(tasks).toEqual(['vol1 replica 0'])
    expect(sets[0]?.replicas).toEqual([
      { ...queued, state: 'Starting', since: at(0), reason: 'Starting', message: 'the mover was created' },
    ])
    expect(sets[0]?.dueAt).toBe(NOW + 30_000)
  })

  test.each<{ name: string; volume?: Partial<VolumeStatus>; more?: Parameters<typeof start>[1]; reason?: string }>([
    { name: 'is not started without a slot', more: slots(0) },
    { name: 'is not started before the status records it', volume: {} },
    { name: 'is stuck when there is no node', more: { nodes: makeVolumeInput({ nodes: [] }).nodes }, reason: 'NoNode' },
    {
      name: 'is stuck when its volume is invalid',
      more: { configs: [{ options: { sourceURL: 's3://lake/sales/' } }] },
      reason: 'InvalidSpec',
    },
    {
      name: 'is stuck while a mover of its volume is unschedulable',
      more: { configs: [{ replicas: 2 }], movers: new Map([['other', makeMover({ index: 5, path }, UNSCHEDULABLE)]]) },
      volume: { replicas: [queued, makeReplica({ ...current, index: 5, path, state: 'Starting' })] },
      reason: 'NoNode',
    },
  ])('$name', ({ volume = { replicas: [queued] }, more = {}, reason }) => {
    const { tasks, sets } = start([volume], more)

    expect(tasks).toEqual([])
    expect(sets[0]?.replicas[0]).toMatchObject({ state: 'Queued', ...(reason && { reason }) })
  })

  test('waits while another replica searches its node', () => {
    const { tasks } = start([{ replicas: [queued, { ...queued, index: 1 }] }], { configs: [{ replicas: 2 }] })

    expect(tasks).toEqual(['vol1 replica 0'])
  })

  test('is started beside others when it is pinned', () => {
    const replicas = [queued, { ...queued, index: 1, node: 'n1' }]

    expect(start([{ replicas }], { configs: [{ replicas: 2 }] }).tasks).toEqual(['vol1 replica 0', 'vol1 replica 1'])
  })
})

describe('the slots', () => {
  const configs = [{ id: 'vol1' }, { id: 'vol2', priority: 5 }]
  const second = { ...queued, revision: current.revision }

  test.each([
    { count: 3, want: ['vol2 deletion 7', 'vol2 replica 0', 'vol1 replica 0'] },
    { count: 2, want: ['vol2 deletion 7', 'vol2 replica 0'] },
    { count: 1, want: ['vol2 deletion 7'] },
    { count: 0, want: [] },
  ])('of $count go to deletions first, and then by priority', ({ count, want }) => {
    const deletions = [makeDeletion({ index: 7, state: 'Queued', node: 'n3', path: '/old', nodeLabels: [] })]

    expect(
      start([{ replicas: [queued] }, { replicas: [second], deletions }], { configs, ...slots(count) }).tasks,
    ).toEqual(want)
  })

  test('go to an upload of a volume that is written back', () => {
    const options = { awsCredentialsSecretName: 'aws-creds', sourceURL: 's3://lake/sales/', resync: 'true' }
    const upload = { state: 'Queued' as const, attempt: 1, since: at(-5) }
    const replicas = [makeReplica({ ...current, index: 0, lastUsedTime: at(-9), upload })]

    const { tasks, sets } = start([{ replicas }], { configs: [{ options }] })

    expect(tasks).toEqual(['vol1 upload 0'])
    expect(sets[0]?.replicas[0]).toMatchObject({ upload: { state: 'Uploading', since: at(0) }, uploads: 1 })
  })

  test('do not go to a deletion on a node that is full', () => {
    const deletions = [makeDeletion({ index: 7, state: 'Queued', path: '/old', nodeLabels: [] })]
    const active = Array.from({ length: 5 }, () => makeMover({}, { phase: 'Running' }, 'n1'))

    expect(start([{ deletions }], { allowance: { slots: 9, active } }).tasks).toEqual([])
  })
})
