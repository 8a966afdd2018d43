/** Tests the Events of movers. */
import { expect, test } from 'vitest'
import { type MoverIdentity, moverEvent } from './event.ts'

const identity: MoverIdentity = { pod: { name: 'mover-1', namespace: 'ns', uid: 'u1' }, node: 'node-1', attempt: 2 }
const report = {
  moment: 'progress',
  message: 'half',
  totalBytes: 8,
  doneBytes: 4,
  totalFiles: 2,
  doneFiles: 1,
} as const
const when = {
  seq: 5,
  count: 3,
  firstAt: Date.parse('2026-11-20T12:00:00Z'),
  now: Date.parse('2026-11-20T12:00:10.5Z'),
}

test('each Pod and reason has one Event, with numbers as JSON', () => {
  const event = moverEvent(identity, report, when)

  expect(event).toMatchObject({
    metadata: { name: 'mover-1.data-path-progress', namespace: 'ns' },
    involvedObject: { apiVersion: 'v1', kind: 'Pod', name: 'mover-1', namespace: 'ns', uid: 'u1' },
    type: 'Normal',
    reason: 'Data-Path-Progress',
    source: { component: 'lodestone-mover', host: 'node-1' },
    reportingInstance: 'mover-1',
    firstTimestamp: '2026-11-20T12:00:00Z',
    lastTimestamp: '2026-11-20T12:00:10Z',
    count: 3,
  })
  expect(JSON.parse(event.message)).toEqual({
    v: 1,
    attempt: 2,
    seq: 5,
    message: 'half',
    totalBytes: 8,
    doneBytes: 4,
    totalFiles: 2,
    doneFiles: 1,
  })
})

test('an Event about another object is in its namespace, and a failure is a warning', () => {
  const about = {
    apiVersion: 'vck.intelai.org/v1alpha1',
    kind: 'VolumeManager',
    name: 'data',
    namespace: 'team',
    uid: 'u2',
  }

  expect(moverEvent({ ...identity, about }, { ...report, moment: 'failed' }, when)).toMatchObject({
    metadata: { namespace: 'team' },
    involvedObject: about,
    type: 'Warning',
  })
})

test('a long message is cut, and the JSON stays valid', () => {
  const { message } = moverEvent(identity, { ...report, message: '"\n'.repeat(2000) }, when)

  expect(message.length).toBeLessThanOrEqual(1024)
  expect(JSON.parse(message)).toMatchObject({ seq: 5 })
})

test.each([0, 1])('a message is not cut inside of a character, after %i others', (before) => {
  const { message } = moverEvent(identity, { ...report, message: 'x'.repeat(before) + '\u{1F40B}'.repeat(1000) }, when)

  expect(JSON.parse(message).message.isWellFormed()).toBe(true)
})

test('a name of the maximum length stays valid', () => {
  const name = `${'a'.repeat(240)}.${'b'.repeat(12)}`

  const event = moverEvent({ ...identity, pod: { name, namespace: 'ns' } }, report, when)

  expect(event.metadata.name).toMatch(/^[a-z0-9].{0,252}$/)
})
