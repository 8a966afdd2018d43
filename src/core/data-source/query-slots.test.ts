import { describe, expect, test } from 'vitest'
import { afterQuery, freeSlots, type HealthCheck, type SlotsInput, type SystemRecord } from './query-slots.ts'

const NOW = 1_000_000
const healthy: HealthCheck = { state: 'healthy', checkedAt: NOW - 5_000 }
const unhealthy: HealthCheck = { state: 'unhealthy', checkedAt: NOW - 5_000 }
const input: SlotsInput = { record: { failures: 0 }, health: healthy, maxConcurrent: 32, running: 0, now: NOW }

test.each<{ name: string; given: Partial<SlotsInput>; want: ReturnType<typeof freeSlots> }>([
  { name: 'as many as configured', given: {}, want: { free: 32 } },
  { name: 'those that no query uses', given: { running: 30 }, want: { free: 2 } },
  { name: 'none if more queries run than are allowed', given: { running: 40 }, want: { free: 0 } },
  { name: 'all, before the first health check', given: { health: { state: 'unknown' } }, want: { free: 32 } },
  { name: 'all, after few failures', given: { record: { failures: 2 } }, want: { free: 32 } },
  { name: 'one, after several failures in a row', given: { record: { failures: 3 } }, want: { free: 1 } },
  { name: 'no second one while it is failing', given: { record: { failures: 3 }, running: 1 }, want: { free: 0 } },
  {
    name: 'one, after a pause',
    given: { record: { failures: 3, pausedUntil: NOW + 700 } },
    want: { free: 0, waitMs: 700 },
  },
  { name: 'one, while the health check fails', given: { health: unhealthy }, want: { free: 1 } },
  {
    name: 'all, if a query was answered after the failed health check',
    given: { health: unhealthy, record: { failures: 0, answeredAt: NOW - 1_000 } },
    want: { free: 32 },
  },
  {
    name: 'one, if the last answer is older than the failed health check',
    given: { health: unhealthy, record: { failures: 0, answeredAt: NOW - 9_000 } },
    want: { free: 1 },
  },
])('a system gets slots: $name', ({ given, want }) => {
  expect(freeSlots({ ...input, ...given })).toEqual(want)
})

describe('the end of a query', () => {
  const ended = (
    record: SystemRecord,
    sign: Parameters<typeof afterQuery>[1],
    retryAfterMs?: number,
    health = healthy,
  ) => afterQuery(record, sign, { now: NOW, health, retryAfterMs })

  test('an answer resets the record', () => {
    expect(ended({ failures: 9, pausedUntil: NOW + 1 }, 'answers')).toEqual({ failures: 0, answeredAt: NOW })
  })

  test('a failure is counted, without a pause while the system is not failing', () => {
    expect(ended({ failures: 1, answeredAt: 5 }, 'fails')).toEqual({ failures: 2, answeredAt: 5 })
  })

  test.each([
    { name: 'a second', retryAfterMs: undefined, want: 1_000 },
    { name: 'a second, also if the system requests less', retryAfterMs: 10, want: 1_000 },
    { name: 'the time that the system requests', retryAfterMs: 7_000, want: 7_000 },
    { name: 'at most half a minute', retryAfterMs: 86_400_000, want: 30_000 },
  ])('a failure of a failing system pauses it: $name', ({ retryAfterMs, want }) => {
    expect(ended({ failures: 2 }, 'fails', retryAfterMs)).toEqual({ failures: 3, pausedUntil: NOW + want })
  })

  test('an error that may concern one query only neither counts nor resets', () => {
    expect(ended({ failures: 2 }, 'unclear')).toEqual({ failures: 2 })
  })

  test('such an error pauses a system whose health check fails', () => {
    expect(ended({ failures: 0 }, 'unclear', undefined, unhealthy)).toEqual({ failures: 0, pausedUntil: NOW + 1_000 })
  })
})
