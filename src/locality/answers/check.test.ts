import { expect, test } from 'vitest'
import { checkLocated, isPrintable } from './check.ts'

const kind = 'located' as const
const location = 's3://lake/t'

test.each([
  { name: 'a location alone', answer: { kind, location } },
  { name: 'everything', answer: { kind, location, clusters: ['m1'], bytes: 0, etag: 'W/"a-b"' } },
  { name: 'an ETag without quotes', answer: { kind, location, etag: 'v1' } },
  { name: 'other alphabets', answer: { kind, location: 's3://lake/größe/表/😀' } },
])('$name stays as it is', ({ answer }) => {
  expect(checkLocated(answer)).toEqual(answer)
})

test.each([
  ...[-1, 1.5, 1e308, Number.NaN, 2 ** 53].map((bytes) => ({ answer: { kind, location, bytes } })),
  ...['a b', 'a\r\nb', 'ü', '"'.repeat(3), 'a'.repeat(1_025)].map((etag) => ({ answer: { kind, location, etag } })),
])('an unusable size or ETag is removed: $answer', ({ answer }) => {
  expect(checkLocated(answer)).toEqual({ kind, location })
})

test.each([
  { given: 's3n://AKIA1:hunter2@lake/t', want: 's3n://lake/t' },
  { given: 's3://AKIA1@lake/t', want: 's3://lake/t' },
  { given: 'hdfs://etl:hunter2@nn:8020/t', want: 'hdfs://nn:8020/t' },
  { given: 'wasbs://data@a.blob.core.windows.net/t?sv=1&sig=hunter2', want: 'wasbs://data@a.blob.core.windows.net/t' },
  { given: 'wasbs://data@a.blob.core.windows.net/t?sig=hunter2?x', want: 'wasbs://data@a.blob.core.windows.net/t' },
  { given: 'https://h/t?X-Amz-Signature=hunter2&a=b', want: 'https://h/t' },
  { given: 'abfss://data@a.dfs.core.windows.net/t', want: 'abfss://data@a.dfs.core.windows.net/t' },
  { given: 's3://lake/a:b@c/t?sv=1', want: 's3://lake/a:b@c/t?sv=1' },
  { given: 's3://lake/t?region=eu', want: 's3://lake/t?region=eu' },
])('the location $given is stored without credentials', ({ given, want }) => {
  expect(checkLocated({ kind, location: given })).toEqual({ kind, location: want })
})

test.each(['', `s3://${'a'.repeat(4_096)}`, 's3://a\nb', 's3://a\u0000', 's3://\ud800', 's3://\udc00a'])(
  'the location %j cannot be stored',
  (text) => {
    expect(checkLocated({ kind, location: text })).toBeUndefined()
  },
)

test.each([
  { text: 'lake.db.größe 😀', want: true },
  { text: 'a\tb', want: false },
  { text: 'a\ud83d', want: false },
])('$text is printable: $want', ({ text, want }) => {
  expect(isPrintable(text)).toBe(want)
})

test.each([
  { bytes: 7, bytesAreMinimum: true, want: { bytes: 7, bytesAreMinimum: true } },
  { bytes: 7, bytesAreMinimum: false, want: { bytes: 7 } },
  { bytes: -1, bytesAreMinimum: true, want: {} },
])('a minimum needs a size: $bytes, $bytesAreMinimum', ({ want, ...size }) => {
  expect(checkLocated({ kind, location: 's3://a', ...size })).toEqual({ kind, location: 's3://a', ...want })
})
