import { expect, test } from 'vitest'
import { afterResult, NEW_MEMORY, type QueryResult, type ResultContext, type SourceMemory } from './memory.ts'

const NOW = 1_000_000
const context: ResultContext = {
  now: NOW,
  isLocated: true,
  refreshIntervalMs: 300_000,
  retry: { maxRetries: 1, initialBackoffMs: 2_000, maxBackoffMs: 30_000, backoffMultiplier: 2, timeoutMs: 1 },
  spread: 0,
}
const answered = { confirmations: 0, failures: 0, answeredAt: NOW }
const failed: QueryResult = { kind: 'failed', code: 'unavailable', reason: 'HTTP 503' }
const nowhere: QueryResult = { kind: 'nowhere', reason: 'no such table' }

test.each<{
  name: string
  memory?: Partial<SourceMemory>
  result: QueryResult
  given?: Partial<ResultContext>
  want: ReturnType<typeof afterResult>
}>([
  {
    name: 'a location clears failures and confirmations, and is reported without its version',
    memory: { failures: 2, confirmations: 2, nextAt: 5, etag: 'old' },
    result: { kind: 'located', location: 's3://a', clusters: ['m1'], bytes: 7, etag: 'v2' },
    want: {
      memory: { ...answered, etag: 'v2' },
      attempt: { kind: 'located', location: 's3://a', clusters: ['m1'], bytes: 7 },
    },
  },
  {
    name: 'a location without a version forgets the old one',
    memory: { etag: 'old' },
    result: { kind: 'located', location: 's3://a', clusters: [] },
    want: { memory: answered, attempt: { kind: 'located', location: 's3://a', clusters: [] } },
  },
  {
    name: '"unchanged" keeps the version',
    memory: { etag: 'v1', failures: 1, nextAt: 5 },
    result: { kind: 'unchanged' },
    want: { memory: { ...answered, etag: 'v1' }, attempt: { kind: 'unchanged' } },
  },
  {
    name: '"no such data" is asked again soon while a location is known',
    result: nowhere,
    want: {
      memory: { ...answered, confirmations: 1, nextAt: NOW + 10_000 },
      attempt: { ...nowhere, confirmations: 1 },
    },
  },
  {
    name: '"no such data" is asked again at the interval when that is sooner',
    result: nowhere,
    given: { refreshIntervalMs: 2_000 },
    want: { memory: { ...answered, confirmations: 1, nextAt: NOW + 2_000 }, attempt: { ...nowhere, confirmations: 1 } },
  },
  {
    name: '"no such data" for the third time is final',
    memory: { confirmations: 2 },
    result: nowhere,
    want: { memory: { ...answered, confirmations: 3 }, attempt: { ...nowhere, confirmations: 3 } },
  },
  {
    name: '"no such data" is final at once where nothing is known',
    result: nowhere,
    given: { isLocated: false },
    want: { memory: { ...answered, confirmations: 1 }, attempt: { ...nowhere, confirmations: 1 } },
  },
  {
    name: 'a failure is not reported while the policy retries',
    memory: { etag: 'v1', answeredAt: 3 },
    result: failed,
    want: {
      memory: { ...NEW_MEMORY, etag: 'v1', answeredAt: 3, failures: 1, nextAt: NOW + 1_000 },
      attempt: undefined,
    },
  },
  {
    name: 'a failure is reported after the retries',
    memory: { failures: 1 },
    result: failed,
    want: {
      memory: { ...NEW_MEMORY, failures: 2, nextAt: NOW + 1_000 },
      attempt: { kind: 'failed', reason: 'HTTP 503' },
    },
  },
  {
    name: 'a failure that does not pass is reported at once',
    result: { kind: 'failed', code: 'rejected', reason: 'HTTP 400' },
    want: {
      memory: { ...NEW_MEMORY, failures: 1, nextAt: NOW + 1_000 },
      attempt: { kind: 'failed', reason: 'HTTP 400' },
    },
  },
])('$name', ({ memory, result, given, want }) => {
  expect(afterResult({ ...NEW_MEMORY, ...memory }, result, { ...context, ...given })).toEqual(want)
})
