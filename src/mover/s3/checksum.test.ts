/** Tests which checksum is read from response headers. */
import { expect, test } from 'vitest'
import { checksumOf } from './checksum.ts'

const md5 = 'd41d8cd98f00b204e9800998ecf8427e'
const kms = { 'x-amz-server-side-encryption': 'aws:kms' }

test.each([
  { name: 'an MD5', headers: { etag: `"${md5}"` }, want: { algorithm: 'md5', value: md5 } },
  {
    name: 'an MD5 in capitals and a weak ETag',
    headers: { etag: `W/"${md5.toUpperCase()}"` },
    want: { algorithm: 'md5', value: md5 },
  },
  {
    name: 'encryption by AES256',
    headers: { etag: md5, 'x-amz-server-side-encryption': 'AES256' },
    want: { algorithm: 'md5', value: md5 },
  },
  { name: 'an ETag of parts', headers: { etag: `"${md5}-3"` }, want: undefined },
  { name: 'encryption by KMS', headers: { etag: md5, ...kms }, want: undefined },
  {
    name: "a customer's key",
    headers: { etag: md5, 'x-amz-server-side-encryption-customer-algorithm': 'AES256' },
    want: undefined,
  },
  { name: 'no checksum', headers: {}, want: undefined },
  {
    name: 'a checksum beside an ETag',
    headers: { etag: md5, 'x-amz-checksum-crc32': 'DUoRhQ==' },
    want: { algorithm: 'crc32', value: '0d4a1185' },
  },
  {
    name: 'several checksums',
    headers: { 'x-amz-checksum-crc32': 'DUoRhQ==', 'x-amz-checksum-sha1': 'qvTGHdzF6KLavt4PO0gs2a6pQ00=' },
    want: { algorithm: 'sha1', value: 'aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d' },
  },
  {
    name: 'a checksum of checksums',
    headers: { ...kms, etag: md5, 'x-amz-checksum-crc32': 'DUoRhQ==-2' },
    want: undefined,
  },
  {
    name: 'a checksum of checksums by its type',
    headers: { ...kms, etag: md5, 'x-amz-checksum-crc32': 'DUoRhQ==', 'x-amz-checksum-type': 'COMPOSITE' },
    want: undefined,
  },
  { name: 'a checksum that is not base64', headers: { 'x-amz-checksum-crc32': '?' }, want: undefined },
  {
    name: 'CRC64NVME, which AWS returns for every object',
    headers: { ...kms, etag: md5, 'x-amz-checksum-crc64nvme': 'rosUhgp5mIg=', 'x-amz-checksum-type': 'FULL_OBJECT' },
    want: { algorithm: 'crc64nvme', value: 'ae8b14860a799888' },
  },
  {
    name: 'CRC32C',
    headers: { etag: md5, 'x-amz-checksum-crc32c': '4waSgw==' },
    want: { algorithm: 'crc32c', value: 'e3069283' },
  },
])('of an object with $name', ({ headers, want }) => {
  expect(checksumOf(headers)).toEqual(want)
})
