/** Tests the URLs of data on S3. */
import { expect, test } from 'vitest'
import { parseS3Url } from './protocol.ts'

const lake = { container: 'lake', globRoot: 's3/lake/' }

test.each([
  { url: 's3://lake/a/b.bin', want: { ...lake, url: 's3://lake/a/b.bin', key: 'a/b.bin', recursive: false } },
  { url: 's3://lake/a/', want: { ...lake, url: 's3://lake/a/', key: 'a/', recursive: true } },
  { url: 's3://lake/', want: { ...lake, url: 's3://lake/', key: '', recursive: true } },
  { url: 's3://lake', want: { ...lake, url: 's3://lake/', key: '', recursive: true } },
  { url: 'S3://lake/a', want: { ...lake, url: 's3://lake/a', key: 'a', recursive: false } },
  {
    url: 's3://lake/line\nbreak',
    want: { ...lake, url: 's3://lake/line\nbreak', key: 'line\nbreak', recursive: false },
  },
  { url: 's3://no bucket/a', want: undefined },
  { url: 's3:///a', want: undefined },
  { url: 'see s3://lake/a', want: undefined },
  { url: 'https://lake/a', want: undefined },
  { url: '', want: undefined },
])('$url gives a bucket and a key, or undefined', ({ url, want }) => {
  expect(parseS3Url(url)).toEqual(want)
})
