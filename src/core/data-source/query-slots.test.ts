import { describe, expect, test } from 'vitest'
import { afterQuery, freeSlots, type HealthCheck, type SlotsInput, type SystemRecord } from './query-slots.ts'

const NOW = 1_000_000
const healthy: HealthCheck = { state: 'healthy', checkedAt: NOW - 5_000 }
const unhealthy: HealthCheck = { state: 'unhealthy', checkedAt: NOW - 5_000 }
const TWO = ['b', 'c']
const THREE = ['a', ...TWO]
const input: SlotsInput = { record: { failed: [] }, health: healthy, maxConcurrent: 32, running: 0, now: NOW }

test.each<{ name: string; given: Partial<SlotsInput>; want: ReturnType<typeof freeSlots> }>([
  { name: 'as many as configured', given: {}, want: { free: 32 } },
  { name: 'those that no query uses', given: { running: 30 }, want: { free: 2 } },
  { name: 'none if more queries run than are allowed', given: { running: 40 }, want: { free: 0 } },
  { name: 'all, before the first health check', given: { health: { state: 'unknown' } }, want: { free: 32 } },
  { name: 'all, after few failures', given: { record: { failed: TWO } }, want: { free: 32 } },
  { name: 'one, after failures of several queries in a row', given: { record: { failed: THREE } }, want: { free: 1 } },
  { name: 'no second one while it is failing', given: { record: { failed: THREE }, running: 1 }, want: { free: 0 } },
  {
    name: 'one, after a pause',
    given: { record: { failed: THREE, pausedUntil: NOW + 700 } },
    want: { free: 0, waitMs: 700 },
  },
  {
    name: 'one, if the pause began before the clock was set back',
    given: { record: { failed: THREE, pausedUntil: NOW + 3_600_000 } },
    want: { free: 1 },
  },
  { name: 'one, while the health check fails', given: { health: unhealthy }, want: { free: 1 } },
  {
    name: 'all, if a query was answered after the failed health check',
    given: { health: unhealthy, record: { failed: [], answeredAt: NOW - 1_000 } },
    want: { free: 32 },
  },
  {
    name: 'one, if the last answer is older than the failed health check',
    given: { health: unhealthy, record: { failed: [], answeredAt: NOW - 9_000 } },
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
  ) => afterQuery(record, sign, { key: 'a', now: NOW, health, retryAfterMs })

  test('an answer resets the record', () => {
    expect(ended({ failed: THREE, pausedUntil: NOW + 1 }, 'answers')).toEqual({ failed: [], answeredAt: NOW })
  })

  test('a failure is counted, without a pause while the system is not failing', () => {
    expect(ended({ failed: ['b'], answeredAt: 5 }, 'fails')).toEqual({ failed: ['b', 'a'], answeredAt: 5 })
  })

  test('a query that fails again and again counts once', () => {
    const once = ended({ failed: ['b'] }, 'fails')
    expect(ended(ended(once, 'fails'), 'fails')).toEqual(once)
  })

  test.each([
    { name: 'a second', retryAfterMs: undefined, want: 1_000 },
    { name: 'a second, also if the system requests less', retryAfterMs: 10, want: 1_000 },
    { name: 'the time that the system requests', retryAfterMs: 7_000, want: 7_000 },
    { name: 'at most half a minute', retryAfterMs: 86_400_000, want: 30_000 },
  ])('a failure of a failing system pauses it: $name', ({ retryAfterMs, want }) => {
    expect(ended({ failed: TWO }, 'fails', retryAfterMs)).toEqual({ failed: [...TWO, 'a'], pausedUntil: NOW + want })
  })

  test('the record of a failing system does not grow', () => {
    expect(ended({ failed: ['b', 'c', 'd'] }, 'fails')).toEqual({ failed: ['b', 'c', 'd'], pausedUntil: NOW + 1_000 })
  })

  test('an error that may concern one query only neither counts nor resets', () => {
    expect(ended({ failed: TWO }, 'unclear')).toEqual({ failed: TWO })
  })

  test('such an error pauses a system whose health check fails', () => {
    expect(ended({ failed: [] }, 'unclear', undefined, unhealthy)).toEqual({ failed: [], pausedUntil: NOW + 1_000 })
  })
})
