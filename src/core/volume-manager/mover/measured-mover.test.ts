import { expect, test } from 'vitest'
import { makeVolumeManager } from '../../../../test/builders.ts'
import { asTask, makeDeletion, makeMover, makeReplica } from '../../../../test/volume-builders.ts'
import { ended, moverSays } from '../../../../test/volume-world.ts'
import type { VolumeManager } from '../../../api/volume-manager.ts'
import type { VolumeStatus } from '../../../api/volume-status.ts'
import { endedMover, newFailures } from './measured-mover.ts'

const times = (phase: 'Succeeded' | 'Failed', message = '') => ({
  ...ended(phase, { exitCode: phase === 'Failed' ? 1 : 0, message, finishedAt: '2026-01-01T00:02:00Z' }),
  startTime: '2026-01-01T00:00:30Z',
})

test('an ended mover has its duration and the bytes of its own attempt', () => {
  const pod = makeMover({}, times('Succeeded', moverSays({ outcome: 'completed', bytes: 90, movedBytes: 40 })))

  expect(endedMover(pod)).toEqual({ task: 'download', result: 'succeeded', seconds: 90, movedBytes: 40 })
})

test.each([
  { role: 'upload', task: 'upload' },
  { role: 'maintenance', task: 'maintenance' },
  { role: 'deletion', task: 'deletion' },
  { role: 'leftover', task: 'deletion' },
] as const)('a mover with the role $role counts as $task', ({ role, task }) => {
  expect(endedMover(asTask({ role }, makeMover({}, times('Failed'))))).toMatchObject({ task, result: 'failed' })
})

test('a mover that was never accepted by a node has no duration', () => {
  expect(endedMover(makeMover({}, { phase: 'Failed', reason: 'Evicted' }))).toMatchObject({
    seconds: undefined,
    movedBytes: 0,
  })
})

test('a Pod that runs, or that is no mover, is not counted', () => {
  const pod = makeMover({}, times('Succeeded'))

  expect(endedMover(makeMover({}, { phase: 'Running' }))).toBeUndefined()
  expect(endedMover({ ...pod, metadata: { ...pod.metadata, labels: {} } })).toBeUndefined()
  expect(endedMover({ ...pod, metadata: { ...pod.metadata, annotations: {} } })).toBeUndefined()
})

const managerWith = (status: Partial<VolumeStatus>): VolumeManager => ({
  ...makeVolumeManager(),
  status: { volumes: [{ id: 'vol1', nodeAffinity: {}, ...status }] },
})
const failed = (more: object) => ({ state: 'Failed' as const, attempt: 1, failures: 1, reason: 'NotFound', ...more })

test.each<{ name: string; before?: Partial<VolumeStatus>; after: Partial<VolumeStatus>; want: string[] }>([
  {
    name: 'a download',
    before: { replicas: [makeReplica({ state: 'Downloading' })] },
    after: { replicas: [makeReplica(failed({}))] },
    want: ['download NotFound'],
  },
  {
    name: 'a download that failed again',
    before: { replicas: [makeReplica(failed({}))] },
    after: { replicas: [makeReplica(failed({ failures: 2 }))] },
    want: ['download NotFound'],
  },
  {
    name: 'nothing of a status that changed otherwise',
    before: { replicas: [makeReplica(failed({}))] },
    after: { replicas: [makeReplica(failed({ message: 'x' }))] },
    want: [],
  },
  {
    name: 'an upload',
    after: { replicas: [makeReplica({ upload: failed({ reason: 'WriteConflict' }) })] },
    want: ['upload WriteConflict'],
  },
  {
    name: 'a check',
    after: {
      replicas: [makeReplica({ maintenance: { kind: 'Check', ...failed({ reason: 'Stalled' }) } })],
    },
    want: ['maintenance Stalled'],
  },
  {
    name: 'a deletion that the API server rejected',
    after: { deletions: [makeDeletion(failed({ reason: 'CreateRefused' }))] },
    want: ['deletion CreateRefused'],
  },
  {
    name: 'a Pod that the kubelet evicted',
    after: { replicas: [makeReplica(failed({ reason: 'Evicted' }))] },
    want: ['download Evicted'],
  },
  {
    name: 'a code of another mover as Other',
    after: { replicas: [makeReplica(failed({ reason: 'MadeUpByTheImage' }))] },
    want: ['download Other'],
  },
])('failures are $name', ({ before, after, want }) => {
  const counted = newFailures(before && managerWith(before), managerWith(after))

  expect(counted.map(({ task, reason }) => `${task} ${reason}`)).toEqual(want)
})
