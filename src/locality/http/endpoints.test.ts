import { expect, test } from 'vitest'
import { checkEndpoint } from './http.ts'

const AWS = 'https://s3.amazonaws.com'

test.each([
  { url: 'https://lake.example.org/v1/config?a=b', base: 'https://lake.example.org/api', want: true },
  { url: 'https://bucket.s3.example.org:9000/', base: 'https://s3.example.org:9000', want: true },
  { url: 'https://bucket.s3.eu-west-1.amazonaws.com/', base: AWS, want: true },
  { url: 'https://s3.eu-west-1.amazonaws.com/bucket', base: AWS, want: true },
  { url: 'https://bucket.s3.amazonaws.com/', base: AWS, want: true },
  { url: 'https://evil.amazonaws.com/', base: AWS, want: false },
  { url: 'https://s3.eu-west-1.amazonaws.com.evil.org/', base: AWS, want: false },
  { url: 'https://s3.eu-west-1.amazonaws.com/', base: 'https://s3.example.org', want: false },
  { url: 'https://evil.org/', base: 'https://lake.example.org', want: false },
  { url: 'https://evillake.example.org/', base: 'https://lake.example.org', want: false },
  { url: 'http://lake.example.org/', base: 'https://lake.example.org', want: false },
  { url: 'https://lake.example.org:8443/', base: 'https://lake.example.org', want: false },
  { url: 'https://user@lake.example.org/', base: 'https://lake.example.org', want: false },
  { url: 'http://bucket.127.0.0.1/', base: 'http://127.0.0.1', want: false },
])('$url is a server of $base: $want', ({ url, base, want }) => {
  const check = expect(() => checkEndpoint(url, ['https://first.example.org', base]))
  if (want) check.not.toThrow()
  else check.toThrow(expect.objectContaining({ code: 'rejected' }))
})
