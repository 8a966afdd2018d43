/** Tests the codes and messages in the status of a VolumeManager. */
import { expect, test } from 'vitest'
import { isDeployed, SUCCESS_MESSAGE } from './codes.ts'

test.each([
  { name: 'with the message of success', volume: { message: SUCCESS_MESSAGE }, want: true },
  { name: 'with an error', volume: { message: 'NoNode: no node matches the node affinity' }, want: false },
  { name: 'without a message', volume: {}, want: false },
  { name: 'that the status does not have', volume: undefined, want: false },
])('a volume $name is usable: $want', ({ volume, want }) => {
  expect(isDeployed(volume)).toBe(want)
})

test('the message of success is that of VCK, which clients compare', () => {
  expect(SUCCESS_MESSAGE).toBe('success')
})
