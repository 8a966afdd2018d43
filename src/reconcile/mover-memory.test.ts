import { expect, test } from 'vitest'
import { makeVolumeManager } from '../../test/builders.ts'
import type { ReplicaState, VolumeManager } from '../api/volume-manager.ts'
import { unsettledMovers } from '../core/volume-manager/mover/task.ts'
import { emptyMemory, retryMemoryOf } from './mover-memory.ts'

const managerWith = (state: ReplicaState, attempt: number): VolumeManager => ({
  ...makeVolumeManager([{}], { name: 'sales' }),
  status: {
    volumes: [{ id: 'vol1', nodeAffinity: {}, replicas: [{ index: 0, state, revision: 'r', attempt }] }],
  },
})

test.each([
  { name: 'that waits for its turn', after: managerWith('Queued', 1), isKept: true },
  { name: 'that is at work', after: managerWith('Downloading', 1), isKept: true },
  { name: 'that failed', after: managerWith('Failed', 1), isKept: true },
  { name: 'that another one has followed', after: managerWith('Failed', 2), isKept: false },
  { name: 'whose work is done', after: managerWith('Ready', 1), isKept: false },
  { name: 'of a volume that is gone', after: { ...managerWith('Failed', 1), status: {} }, isKept: false },
])('the memory of a mover $name is kept: $isKept', ({ after, isKept }) => {
  const memory = emptyMemory()
  const before = managerWith('Queued', 1)
  const [mover = ''] = unsettledMovers(before)
  const { refusals, retryTriggers } = retryMemoryOf(before, memory)
  refusals.set(mover, 'quota')
  retryTriggers.set(mover, new Set(['secret']))

  const retries = retryMemoryOf(after, memory)

  expect([...retries.refusals.keys(), ...retries.retryTriggers.keys()]).toEqual(isKept ? [mover, mover] : [])
})
