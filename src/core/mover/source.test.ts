/** Tests the URLs of data. */
import { expect, test } from 'vitest'
import { parseS3Url, s3Url } from './source.ts'

test.each([
  { url: 's3://lake/a/b.bin', want: { bucket: 'lake', key: 'a/b.bin', recursive: false } },
  { url: 's3://lake/a/', want: { bucket: 'lake', key: 'a/', recursive: true } },
  { url: 's3://lake/', want: { bucket: 'lake', key: '', recursive: true } },
  { url: 's3://lake', want: { bucket: 'lake', key: '', recursive: true } },
  { url: 'S3://lake/a', want: { bucket: 'lake', key: 'a', recursive: false } },
  { url: 's3://lake/line\nbreak', want: { bucket: 'lake', key: 'line\nbreak', recursive: false } },
  { url: 's3://no bucket/a', want: undefined },
  { url: 's3:///a', want: undefined },
  { url: 'see s3://lake/a', want: undefined },
  { url: 'https://lake/a', want: undefined },
  { url: '', want: undefined },
])('$url gives a bucket and a key, or undefined', ({ url, want }) => {
  expect(parseS3Url(url)).toEqual(want)
})

test('a bucket and a key give the URL that messages show', () => {
  expect(s3Url({ bucket: 'lake', key: 'a/b.bin' })).toBe('s3://lake/a/b.bin')
})
