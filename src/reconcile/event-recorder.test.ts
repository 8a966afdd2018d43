import { expect, test } from 'vitest'
import { makeClaim } from '../../test/builders.ts'
import type { ObjectMeta } from '../api/meta.ts'
import type { EventAction } from '../core/plan.ts'
import type { EventReason } from '../core/signal-tables.ts'
import type { ObjectStore } from '../store/store.ts'
import { openEventRecorder } from './event-recorder.ts'

const event = (reason: EventReason, metadata?: ObjectMeta): EventAction => ({
  kind: 'event',
  about: makeClaim({}, metadata),
  type: 'Normal',
  reason,
  message: 'm',
})

/** A store that writes an Event only when the test allows it. */
function open() {
  const written: { reason?: string; firstTimestamp?: string }[] = []
  const results: string[] = []
  const waiting: { resolve(): void; reject(error: Error): void }[] = []
  let time = Date.parse('2026-01-01T00:00:00Z')
  const store: Pick<ObjectStore, 'create'> = {
    create: (_type, object) =>
      new Promise((resolve, reject) => {
        waiting.push({ resolve: () => resolve(object), reject })
        written.push(object as (typeof written)[number])
      }),
  }
  const recorder = openEventRecorder({
    store,
    now: () => time,
    observer: { recorded: (result) => results.push(result) },
  })
  return {
    recorder,
    written,
    results,
    later(ms: number) {
      time += ms
    },
    async answer(error?: Error) {
      const next = waiting.shift()
      if (error) next?.reject(error)
      else next?.resolve()
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

test('Events are written one at a time, in order, with the time of their cause', async () => {
  const { recorder, written, later, answer } = open()
  recorder.record(event('Moved'))
  later(5000)
  recorder.record(event('Fresh'))
  later(60_000)
  expect(written.map(({ reason }) => reason)).toEqual(['Moved'])
  await answer()
  expect(written.map(({ reason, firstTimestamp }) => [reason, firstTimestamp])).toEqual([
    ['Moved', '2026-01-01T00:00:00Z'],
    ['Fresh', '2026-01-01T00:00:05Z'],
  ])
})

test.each([
  { what: 'has it at the end of its message', message: 'm', want: 'm (decision 3f2a9c01be)' },
  {
    what: 'has it also if its message is cut',
    message: 'm'.repeat(2000),
    want: `${'m'.repeat(1024 - ' (decision 3f2a9c01be)'.length)} (decision 3f2a9c01be)`,
  },
  {
    what: 'has it also if its message is cut inside of a character',
    message: `m${'\u{1F40B}'.repeat(1000)}`,
    want: `m${'\u{1F40B}'.repeat(500)} (decision 3f2a9c01be)`,
  },
])('an Event about a decision has its id as a label, and $what', ({ message, want }) => {
  const { recorder, written } = open()
  recorder.record({ ...event('LocalityNarrowed'), message, decisionId: '3f2a9c01be' })
  expect(written).toMatchObject([
    { message: want, metadata: { labels: { 'lodestone.dev/decision-id': '3f2a9c01be' } } },
  ])
})

test('a rejected Event is counted, and the next one is written', async () => {
  const { recorder, written, results, answer } = open()
  recorder.record(event('Moved'))
  recorder.record(event('Fresh'))
  await answer(new Error('no'))
  await answer()
  expect(written).toHaveLength(2)
  expect(results).toEqual(['failed', 'written'])
})

test('Events above the limit of a namespace are dropped, and leave room for another', () => {
  const { recorder, results } = open()
  for (let i = 0; i < 1500; i++) recorder.record(event('Moved', { name: `many-${i}` }))
  // The first one is being written, and does not wait.
  expect(results.filter((result) => result === 'dropped')).toHaveLength(499)
  recorder.record(event('Moved', { name: 'one', namespace: 'other' }))
  expect(results).toHaveLength(499)
})

test('an Event is written before the many of another namespace that wait', async () => {
  const { recorder, written, answer } = open()
  for (let i = 0; i < 10; i++) recorder.record(event('Moved', { name: `many-${i}`, namespace: 'many' }))
  recorder.record(event('Fresh', { namespace: 'few' }))
  await answer()
  await answer()
  expect(written.map(({ reason }) => reason)).toEqual(['Moved', 'Moved', 'Fresh'])
})

test('an object has 25 Events at once, and then one in five minutes', async () => {
  const { recorder, written, results, later, answer } = open()
  const record = async (count: number) => {
    for (let i = 0; i < count; i++) recorder.record(event('Moved'))
    for (let i = 0; i < count; i++) await answer()
    return written.length
  }
  expect(await record(100)).toBe(25)
  later(299_000)
  expect(await record(2)).toBe(25)
  later(1000)
  expect(await record(2)).toBe(26)
  recorder.record(event('Moved', { name: 'other' }))
  expect(written).toHaveLength(27)
  expect(results.filter((result) => result === 'dropped')).toHaveLength(78)
})

test('no Event is written after the stop', async () => {
  const { recorder, written, answer } = open()
  recorder.record(event('Moved'))
  recorder.record(event('Fresh'))
  const stopped = recorder.stop()
  await answer()
  await stopped
  expect(written).toHaveLength(1)
})
