import { expect, test } from 'vitest'
import { makeVolumeManager } from '../../../../test/builders.ts'
import { at, makeDeletion, makeReplica } from '../../../../test/volume-builders.ts'
import type { VolumeManager } from '../../../api/volume-manager.ts'
import type { VolumeStatus } from '../../../api/volume-status.ts'
import { countTotals } from './totals.ts'

const managerWith = (...volumes: Partial<VolumeStatus>[]): VolumeManager => ({
  ...makeVolumeManager(),
  status: { volumes: volumes.map((volume, index) => ({ id: `vol${index}`, nodeAffinity: {}, ...volume })) },
})

test('replicas are counted by state, and waiting work by task with the oldest time', () => {
  const manager = managerWith(
    {
      replicas: [
        makeReplica(),
        makeReplica({ index: 1, state: 'Queued', since: at(20) }),
        makeReplica({ index: 2, upload: { state: 'Queued', attempt: 1, since: at(30) } }),
      ],
      deletions: [makeDeletion({ state: 'Queued' }), makeDeletion({ state: 'Waiting' })],
    },
    {
      replicas: [
        makeReplica({ state: 'Queued', since: at(10) }),
        makeReplica({ index: 1, maintenance: { kind: 'Check', state: 'Queued', attempt: 1, since: at(40) } }),
      ],
    },
  )

  expect(countTotals(manager)).toEqual({
    replicas: { Ready: 3, Queued: 2 },
    queue: {
      download: { count: 2, since: Date.parse(at(10)) },
      upload: { count: 1, since: Date.parse(at(30)) },
      deletion: { count: 1, since: Date.parse(at(0)) },
      maintenance: { count: 1, since: Date.parse(at(40)) },
    },
    conflicts: 0,
  })
})

test('a write-back that waits for the user is a conflict', () => {
  const upload = { state: 'Failed' as const, attempt: 1, reason: 'WriteConflict' }

  expect(countTotals(managerWith({ replicas: [makeReplica({ upload })] })).conflicts).toBe(1)
})

test.each([
  { name: 'no status', status: undefined },
  { name: 'volumes that are no list', status: { volumes: 'x' } },
  { name: 'an unknown state', status: { volumes: [{ id: 'a', replicas: [{ index: 0, state: 'Made up' }] }] } },
])('a VolumeManager with $name counts nothing', ({ status }) => {
  const manager = { ...makeVolumeManager(), status } as VolumeManager

  expect(countTotals(manager)).toEqual({ replicas: {}, queue: {}, conflicts: 0 })
})
