import { describe, expect, test } from 'vitest'
import { ANY_NODE, makePod, makeUsable, managers } from '../../../../test/builders.ts'
import type { Pod } from '../../../api/pod.ts'
import { defined } from '../../../base/json.ts'
import { decidePod } from '../decide-pod.ts'
import type { UsableVolume } from '../injection/mountable-volumes.ts'
import { gateStateOf, isGated } from './gate-state.ts'

const lookup = (volume: Partial<UsableVolume> = {}, refusal?: string) =>
  managers(defined({ name: 'mnist', volumes: [makeUsable('vol1', volume)], refusal: refusal || undefined }))

/** A pod that was created before its data was ready. */
function gated(metadata: Pod['metadata'] = {}): Pod {
  const pod = makePod({ name: 'mnist' })
  const outcome = decidePod({
    pod,
    managers: lookup({ state: 'Waiting' }),
    ...ANY_NODE,
    whenNotReady: 'gate',
    isHub: false,
  })
  if (outcome.kind !== 'patch') throw new Error(JSON.stringify(outcome))
  return { ...(outcome.object as Pod), metadata: { ...pod.metadata, ...metadata } }
}

const moved = lookup({ source: { hostPath: { path: '/var/datasets/new' } } })
const owned = { ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name: 'train', uid: 'u', controller: true }] }

describe('a pod with our gate', () => {
  test.each([
    [
      'its data is not ready',
      gated(),
      lookup({ state: 'Waiting' }),
      'VolumesNotReady',
      'waits for VolumeManager mnist/vol1',
    ],
    ['its data is ready', gated(), lookup(), 'VolumesReady', 'the data of all required volumes is ready'],
    [
      'its VolumeManager failed',
      gated(),
      lookup({}, 'no such bucket'),
      'VolumesUnusable',
      'cannot be used: no such bucket',
    ],
    [
      'its VolumeManager does not exist',
      gated(),
      managers(),
      'VolumesUnusable',
      'there is no VolumeManager mnist in this namespace',
    ],
    ['it requests no volumes', gated({ annotations: {} }), lookup(), 'VolumesUnusable', 'is not JSON'],
    ['its data changed', gated(), moved, 'VolumesUnusable', 'changed after the pod was created; recreate the pod'],
    [
      'its data changed, and a controller owns it',
      gated(owned),
      moved,
      'VolumesReplaced',
      '; its controller replaces it',
    ],
  ])('is on hold because %s', (_name, pod, volumes, reason, message) => {
    expect(gateStateOf(pod, volumes)).toMatchObject({ reason, message: expect.stringContaining(message) })
  })
})

test.each([
  ['is being deleted', gated({ deletionTimestamp: '2026-01-01T00:00:00Z' }), false],
  ['has no gate', { ...gated(), spec: { containers: [] } }, false],
  [
    'has the gate of another controller',
    { ...gated(), spec: { containers: [], schedulingGates: [{ name: 'quota' }] } },
    false,
  ],
  ['has our gate', gated(), true],
])('a pod that %s: on hold %#', (_name, pod, isOnHold) => {
  expect(isGated(pod)).toBe(isOnHold)
  expect(gateStateOf(pod, lookup({ state: 'Waiting' })) !== undefined).toBe(isOnHold)
})
