import { expect, test } from 'vitest'
import type { ReplicaStatus } from '../../../api/volume-manager.ts'
import type { VolumeManagerInput } from '../input.ts'
import { type ReplicaObservation, stepReplica } from './replica.ts'

const NOW = Date.parse('2026-01-01T12:00:00Z')
const replica: ReplicaStatus = { index: 0, state: 'Downloading', revision: 'r', attempt: 2, node: 'n2', path: '/data' }

test.each([
  { name: 'is the second before its mover ended', endTime: '2026-01-01T11:59:00Z', want: '2026-01-01T11:58:59Z' },
  { name: 'is none, where nobody knows when that was', endTime: undefined, want: undefined },
])('of data that has just come, the end up to which pods are accounted for $name', ({ endTime, want }) => {
  const elsewhere = { ...replica, lastEndTime: '2026-01-01T13:00:00Z' }
  const mover = { kind: 'succeeded' as const, node: 'n2', ...(endTime && { endTime }) }
  const settings = {} as VolumeManagerInput['settings']
  const observed: ReplicaObservation = {
    mover,
    progress: undefined,
    retryTriggers: new Set(),
    node: undefined,
    nodeHasData: false,
    isDemanded: false,
    sourceType: 'S3',
    settings,
    now: NOW,
  }

  expect(stepReplica(elsewhere, observed).next).toEqual({
    ...replica,
    state: 'Ready',
    since: '2026-01-01T12:00:00Z',
    ...(want && { lastEndTime: want }),
  })
})
