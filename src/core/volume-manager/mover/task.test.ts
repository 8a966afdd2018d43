import { describe, expect, test } from 'vitest'
import { makeVolumeManager } from '../../../../test/builders.ts'
import { makeDeletion, makeMover, makeReplica } from '../../../../test/volume-builders.ts'
import { MOVER_TASK_ANNOTATION } from '../../../api/lodestone.ts'
import type { Pod } from '../../../api/pod.ts'
import type { VolumeManager } from '../../../api/volume-manager.ts'
import type { ReplicaState } from '../../../api/volume-status.ts'
import { moverName } from '../rules/names.ts'
import {
  buildTask,
  expectedMovers,
  findMover,
  type MoverTask,
  moversAtWork,
  readTask,
  unsettledMovers,
} from './task.ts'

const manager = makeVolumeManager()
const task = buildTask(manager, 'vol1', 'replica', { index: 0, attempt: 1 })
const podWith = (annotation: string | undefined): Pod => ({
  ...makeMover(),
  metadata: {
    name: moverName(manager, task),
    ...(annotation !== undefined && { annotations: { [MOVER_TASK_ANNOTATION]: annotation } }),
  },
})

test.each<{ name: string; annotation: string | undefined; isRead: boolean }>([
  { name: 'of a mover', annotation: JSON.stringify(task), isRead: true },
  { name: 'of another pod', annotation: undefined, isRead: false },
  { name: 'that is not JSON', annotation: '{', isRead: false },
  { name: 'that is not an object', annotation: '[]', isRead: false },
  ...(['manager', 'id', 'role', 'index', 'attempt'] as const).map((member) => ({
    name: `without ${member}`,
    annotation: JSON.stringify({ ...task, [member]: undefined }),
    isRead: false,
  })),
  { name: 'with an unknown role', annotation: JSON.stringify({ ...task, role: 'release' }), isRead: false },
  { name: 'with a fractional attempt', annotation: JSON.stringify({ ...task, attempt: 1.5 }), isRead: false },
])('the task $name is read: $isRead', ({ annotation, isRead }) => {
  expect(readTask(podWith(annotation))).toEqual(isRead ? task : undefined)
})

test('a mover is found by its name and its task, not a pod of a user with that name', () => {
  const moversWith = (pod: Pod) => new Map([[pod.metadata.name ?? '', pod]])
  const mover = podWith(JSON.stringify(task))

  expect(findMover(manager, task, moversWith(mover))).toBe(mover)
  expect(findMover(manager, task, moversWith(podWith(undefined)))).toBeUndefined()
  expect(
    findMover(manager, task, moversWith(podWith(JSON.stringify({ ...task, manager: 'default/other' })))),
  ).toBeUndefined()
  expect(findMover(manager, { ...task, attempt: 2 }, moversWith(mover))).toBeUndefined()
})

describe('the movers according to a status', () => {
  const nameOf = (role: MoverTask['role'], index: number, attempt = 1) =>
    moverName(manager, buildTask(manager, 'vol1', role, { index, attempt }))

  test.each<{ state: ReplicaState; isAtWork: boolean; isUnsettled: boolean }>([
    { state: 'Queued', isAtWork: false, isUnsettled: true },
    { state: 'Starting', isAtWork: true, isUnsettled: true },
    { state: 'Downloading', isAtWork: true, isUnsettled: true },
    { state: 'Failed', isAtWork: false, isUnsettled: true },
    { state: 'Ready', isAtWork: false, isUnsettled: false },
    { state: 'Unreachable', isAtWork: false, isUnsettled: false },
    { state: 'Evicted', isAtWork: false, isUnsettled: false },
  ])('for a replica that is $state', ({ state, isAtWork, isUnsettled }) => {
    const volume = { id: 'vol1', nodeAffinity: {}, replicas: [makeReplica({ state, index: 4, attempt: 2 })] }
    const recorded: VolumeManager = { ...manager, status: { volumes: [volume] } }

    expect(moversAtWork(recorded, volume)).toEqual(isAtWork ? [nameOf('replica', 4, 2)] : [])
    expect(expectedMovers(recorded)).toEqual(isAtWork ? [nameOf('replica', 4, 2)] : [])
    expect(unsettledMovers(recorded)).toEqual(isUnsettled ? [nameOf('replica', 4, 2)] : [])
  })

  test('are those of uploads, checks and deletions too', () => {
    const upload = { state: 'Uploading' as const, attempt: 3 }
    const maintenance = { kind: 'Check' as const, state: 'Running' as const, attempt: 5 }
    const deletions = [makeDeletion({ index: 7, state: 'Deleting' }), makeDeletion({ index: 8, state: 'Waiting' })]
    const volume = { id: 'vol1', nodeAffinity: {}, replicas: [makeReplica({ upload, maintenance })], deletions }

    expect(moversAtWork(manager, volume)).toEqual([
      nameOf('upload', 0, 3),
      nameOf('maintenance', 0, 5),
      nameOf('deletion', 7),
    ])
  })

  test('are none without a status', () => {
    expect([expectedMovers(manager), unsettledMovers(manager)]).toEqual([[], []])
  })
})
