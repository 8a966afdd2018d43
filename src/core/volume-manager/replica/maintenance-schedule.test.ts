import { expect, test } from 'vitest'
import { makeVolume, makeVolumeManager } from '../../../../test/builders.ts'
import { at, makeReplica } from '../../../../test/volume-builders.ts'
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import type { ReplicaStatus } from '../../../api/volume-status.ts'
import { checkedContents, checkPhase, deletableBefore, requestedMaintenance } from './maintenance.ts'

test.each<{ config: Partial<VolumeConfig>; replica: Partial<ReplicaStatus>; want: string }>([
  { config: {}, replica: {}, want: 'files' },
  { config: {}, replica: { inUse: true }, want: 'record' },
  { config: {}, replica: { lastUsedTime: at(-9) }, want: 'record' },
  { config: { readOnly: true }, replica: { inUse: true }, want: 'files' },
])('a check of a volume with $config and a replica with $replica compares the $want', ({ config, replica, want }) => {
  expect(checkedContents(makeVolume(config), makeReplica(replica))).toBe(want)
})

test('requests are digests of annotations', () => {
  const annotations = { 'lodestone.dev/check': 'x'.repeat(5000), 'lodestone.dev/refresh': '1' }
  const requests = requestedMaintenance(makeVolumeManager([], { annotations }))

  expect(requests.check).toMatch(/^[0-9a-z]{13}$/)
  expect(requestedMaintenance(makeVolumeManager())).toEqual({})
})

test('the phases of many replicas are spread over the interval', () => {
  const phases = Array.from({ length: 1000 }, (_, index) =>
    checkPhase(makeVolumeManager(), 'vol1', makeReplica({ index })),
  )

  for (let tenth = 0; tenth < 10; tenth++) {
    const count = phases.filter((one) => Math.floor(one * 10) === tenth).length
    expect(count).toBeGreaterThan(50)
    expect(count).toBeLessThan(200)
  }
})

test.each([
  { users: [], want: 'all' },
  {
    users: [
      { pod: 'a', startTime: at(-5) },
      { pod: 'b', startTime: at(-9) },
    ],
    want: at(-9),
  },
  { users: [{ pod: 'a', startTime: at(-5) }, { pod: 'b' }], want: undefined },
])('trees that were replaced before $want may be deleted', ({ users, want }) => {
  expect(deletableBefore(users)).toBe(want)
})
