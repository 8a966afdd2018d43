import { expect, test } from 'vitest'
import { parseRetryAfter } from './retry-after.ts'

test.each([
  { header: '120', want: 120_000 },
  { header: ' 7 ', want: 7000 },
  { header: '0', want: 0 },
  { header: 'Thu, 01 Jan 2026 00:00:10 GMT', want: 10_000 },
  { header: 'Wed, 31 Dec 2025 23:00:00 GMT', want: 0 },
  { header: 'soon', want: undefined },
  { header: ' ', want: undefined },
  { header: '', want: undefined },
  { header: undefined, want: undefined },
])('Retry-After: $header', ({ header, want }) => {
  expect(parseRetryAfter(header, Date.parse('2026-01-01T00:00:00Z'))).toBe(want)
})
