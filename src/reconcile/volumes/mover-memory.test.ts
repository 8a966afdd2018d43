import { expect, test } from 'vitest'
import { makeVolumeManager } from '../../../test/builders.ts'
import type { VolumeManager } from '../../api/volume-manager.ts'
import type { ReplicaState } from '../../api/volume-status.ts'
import { unsettledMovers } from '../../core/volume-manager/mover/task.ts'
import { emptyMemory, retryMemoryOf } from './mover-memory.ts'

const managerWith = (state: ReplicaState, attempt: number): VolumeManager => ({
  ...makeVolumeManager([{}], { name: 'sales' }),
  status: {
    volumes: [{ id: 'vol1', nodeAffinity: {}, replicas: [{ index: 0, state, revision: 'r', attempt }] }],
  },
})

test.each([
  { name: 'that waits for a slot', after: managerWith('Queued', 1), isKept: true },
  { name: 'that runs', after: managerWith('Downloading', 1), isKept: true },
  { name: 'that failed', after: managerWith('Failed', 1), isKept: true },
  { name: 'that has a successor', after: managerWith('Failed', 2), isKept: false },
  { name: 'whose replica is ready', after: managerWith('Ready', 1), isKept: false },
  { name: 'of a removed volume', after: { ...managerWith('Failed', 1), status: {} }, isKept: false },
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
