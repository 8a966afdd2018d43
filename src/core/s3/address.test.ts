/** Tests the URLs of buckets. */
import { expect, test } from 'vitest'
import { bucketUrl, isBucketName } from './address.ts'

test.each([
  { base: 'https://s3.amazonaws.com', region: undefined, pathStyle: false, want: 'https://wh.s3.amazonaws.com' },
  {
    base: 'https://s3.amazonaws.com',
    region: 'eu-west-1',
    pathStyle: false,
    want: 'https://wh.s3.eu-west-1.amazonaws.com',
  },
  { base: 'https://minio:9000/s3', region: 'dc1', pathStyle: true, want: 'https://minio:9000/s3/wh' },
  { base: 'https://minio:9000/', region: 'dc1', pathStyle: true, want: 'https://minio:9000/wh' },
  { base: 'https://minio:9000', region: 'dc1', pathStyle: false, want: 'https://wh.minio:9000' },
])('addresses a bucket as $want', ({ base, region, pathStyle, want }) => {
  expect(bucketUrl(base, 'wh', region, pathStyle)).toBe(want)
  expect(bucketUrl(base, 'w.h', region, pathStyle)).toMatch(/\/w\.h$/)
})

test.each([
  { name: 'lake', want: true },
  { name: 'my.lake-1_x', want: true },
  { name: 'la', want: false },
  { name: 'lake/x', want: false },
  { name: 'a..b', want: false },
  { name: '-lake', want: false },
])('accepts $name as the name of a bucket: $want', ({ name, want }) => {
  expect(isBucketName(name)).toBe(want)
})
