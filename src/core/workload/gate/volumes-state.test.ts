/** Tests whether the volumes of an annotation are ready. */
import { expect, test } from 'vitest'
import { makeUsable, managers } from '../../../../test/builders.ts'
import { volumesState } from './volumes-state.ts'

const lookup = managers(
  { name: 'weights', volumes: [makeUsable('bert'), makeUsable('llama', { state: 'Waiting' })] },
  { name: 'lost', volumes: [makeUsable('a')], refusal: 'it is being deleted' },
)

test.each([
  { name: 'ready', asks: { name: 'weights' }, isReady: true, message: 'the data of all required volumes is ready' },
  {
    name: 'not ready',
    asks: [{ name: 'weights' }, { name: 'weights', id: 'llama' }],
    isReady: false,
    message: 'waits for VolumeManager weights/llama',
  },
  {
    name: 'preferred and not ready',
    asks: { name: 'weights', id: 'llama', enforcement: 'Preferred' },
    isReady: true,
    message: 'the data of all required volumes is ready',
  },
  { name: 'unknown', asks: { name: 'gone' }, isReady: false, message: 'there is no VolumeManager gone' },
  { name: 'unusable', asks: { name: 'lost' }, isReady: false, message: 'it is being deleted' },
])('volumes that are $name', ({ asks, isReady, message }) => {
  const state = volumesState(JSON.stringify(asks), lookup)
  expect(state.isReady).toBe(isReady)
  expect(state.message).toContain(message)
})

test('an annotation with errors is not ready, and the message names them', () => {
  expect(volumesState('{', lookup)).toMatchObject({ isReady: false, message: expect.stringContaining('is not JSON') })
})
