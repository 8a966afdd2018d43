import { describe, expect, test } from 'vitest'
import { NOW } from '../../../../test/builders.ts'
import { VOLUME_SETTINGS } from '../../../../test/volume-world.ts'
import type { DeletionStatus } from '../../../api/volume-manager.ts'
import { toTime } from '../status/time.ts'
import { type DeletionObservation, stepDeletion } from './deletion.ts'

const deletion: DeletionStatus = {
  ...{ index: 1, node: 'n1', path: '/var/datasets/vck-resource-4b1d-0123456789abc', revision: 'r', attempt: 1 },
  ...{ nodeLabels: ['vck.intelai.org/4b1d-0123456789abc'], state: 'Waiting', cause: 'Removed', since: toTime(NOW) },
}
const observed: DeletionObservation = {
  ...{ mover: undefined, progress: undefined, retryTriggers: new Set(), nodeGone: false, labelled: false, users: [] },
  ...{ evenInUse: false, written: false, settings: VOLUME_SETTINGS, now: NOW },
}
const stateAfter = (ms: number, more: Partial<DeletionObservation> = {}, of: Partial<DeletionStatus> = {}) =>
  stepDeletion({ ...deletion, ...of }, { ...observed, now: NOW + ms, ...more })?.next.state

describe('data whose node label is removed', () => {
  test('is not deleted for 3 s: a pod may be on its way to the node that the API server does not show yet', () => {
    expect([0, 1000, 2999].map((ms) => stateAfter(ms))).toEqual(['Waiting', 'Waiting', 'Waiting'])
    expect(stateAfter(3000)).toBe('Queued')
  })

  test('is not deleted after that either while a pod has it mounted', () => {
    expect(stateAfter(60_000, { users: [{ pod: 'default/trainer', node: 'n1' }] })).toBe('Waiting')
  })

  test('is deleted at once where no label led pods there, or the user asked for it', () => {
    expect(stateAfter(0, {}, { nodeLabels: [] })).toBe('Queued')
    expect(stateAfter(0, { evenInUse: true })).toBe('Queued')
  })
})

test('data whose node still has the label is not deleted, however long that takes', () => {
  expect(stateAfter(3_600_000, { labelled: true, evenInUse: true })).toBe('Waiting')
})

test('nothing is deleted from a node that is gone', () => {
  expect(stateAfter(0, { nodeGone: true })).toBeUndefined()
})
