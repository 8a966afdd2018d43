/** Tests that the messages of a status fit into its object. */
import { expect, test } from 'vitest'
import { NOW } from '../../../../test/builders.ts'
import { makeDeletion, makeReplica } from '../../../../test/volume-builders.ts'
import type { UploadStatus, VolumeStatus } from '../../../api/volume-status.ts'
import { toTime } from '../../../base/time/timestamp.ts'
import { withShortMessages } from './short-messages.ts'

const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value))
const CHINESE = '对象的名称无效'.repeat(73)

function volumeWith(message: string, count: number): VolumeStatus {
  const upload: UploadStatus = {
    state: 'Queued',
    attempt: 1,
    since: toTime(NOW),
    lastFailure: `WriteConflict: ${message}`,
  }
  const replicas = Array.from({ length: count }, (_, index) => makeReplica({ index, message, upload }))
  return { id: 'vol1', message, replicas, deletions: [makeDeletion({ message })], nodeAffinity: {} }
}

test('Chinese messages of 1,000 replicas leave room for the rest of the object', () => {
  const volume = volumeWith(CHINESE, 1000)
  expect(bytesOf(volume)).toBeGreaterThan(1.5 * 1024 * 1024)

  const [short] = withShortMessages([volume])

  expect(bytesOf(short) - bytesOf(volumeWith('', 1000))).toBeLessThanOrEqual(512_000)
  expect(short?.replicas?.[999]).toMatchObject({
    message: expect.stringMatching(/^对象的名称无效.{70,}…$/),
    upload: { lastFailure: expect.stringMatching(/^WriteConflict: 对象的名称无效.*…$/) },
  })
  expect(withShortMessages(short ? [short] : [])).toEqual([short])
})

test('a short message stays beside long ones', () => {
  const [short] = withShortMessages([{ ...volumeWith(CHINESE, 1000), message: 'success' }])
  expect(short?.message).toBe('success')
})

test.each([
  ['one replica with a long message', volumeWith(CHINESE, 1)],
  ['a thousand replicas with messages of 200 characters', volumeWith('m'.repeat(200), 1000)],
  ['no replica', { id: 'vol1', nodeAffinity: {} }],
])('the status of %s stays as it is', (_name, volume) => {
  expect(withShortMessages([volume])).toEqual([volume])
})
