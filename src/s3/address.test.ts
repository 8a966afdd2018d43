/** Tests the URLs of buckets. */
import { expect, test } from 'vitest'
import { bucketUrl, isBucketName, virtualHostFault } from './address.ts'

test.each([
  { base: 'https://s3.amazonaws.com', region: undefined, pathStyle: false, want: 'https://wh.s3.amazonaws.com' },
  {
    base: 'https://s3.amazonaws.com',
    region: 'eu-west-1',
    pathStyle: false,
    want: 'https://wh.s3.eu-west-1.amazonaws.com',
  },
  {
    base: 'https://s3.amazonaws.com',
    region: 'cn-north-1',
    pathStyle: false,
    want: 'https://wh.s3.cn-north-1.amazonaws.com.cn',
  },
  {
    base: 'https://s3.amazonaws.com',
    region: 'eusc-de-east-1',
    pathStyle: false,
    want: 'https://wh.s3.eusc-de-east-1.amazonaws.eu',
  },
  { base: 'https://minio:9000/s3', region: 'dc1', pathStyle: true, want: 'https://minio:9000/s3/wh' },
  { base: 'https://minio:9000/', region: 'dc1', pathStyle: true, want: 'https://minio:9000/wh' },
  { base: 'https://minio:9000', region: 'dc1', pathStyle: false, want: 'https://wh.minio:9000' },
])('addresses a bucket as $want', ({ base, region, pathStyle, want }) => {
  expect(bucketUrl(base, 'wh', region, pathStyle)).toBe(want)
  expect(bucketUrl(base, 'w.h', region, pathStyle)).toMatch(/\/w\.h$/)
})

test.each(['My.Lake', 'My-Lake', 'l'.repeat(64)])(
  'keeps the bucket %s in the path, since no host name can have it',
  (name) => {
    const url = bucketUrl('https://s3.amazonaws.com', name, 'us-east-1', false)

    expect(new URL(url).href).toBe(`https://s3.us-east-1.amazonaws.com/${name}`)
    expect(virtualHostFault('http://10.0.0.1:9000', name)).toBeUndefined()
  },
)

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

test.each([
  { endpoint: 'http://10.0.0.1:9000', bucket: 'lake', want: '10.0.0.1' },
  { endpoint: 'http://0x7f.1', bucket: 'lake', want: '0x7f.1' },
  { endpoint: 'https://[fd00::1]/s3', bucket: 'lake', want: '[fd00::1]' },
  { endpoint: 'https://minio.example.org:9000', bucket: 'lake', want: undefined },
  { endpoint: 'https://s3-1.example.org', bucket: 'lake', want: undefined },
  // It stays in the path.
  { endpoint: 'http://10.0.0.1:9000', bucket: 'my.lake', want: undefined },
])('$bucket cannot be in the host name of $endpoint: $want', ({ endpoint, bucket, want }) => {
  const fault = virtualHostFault(endpoint, bucket)
  expect(fault).toBe(want && `the endpoint ${want} is an IP address, which cannot have the bucket in its host name`)
})
