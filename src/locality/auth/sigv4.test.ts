/** Signatures against the example of AWS' own test suite (aws-sig-v4-test-suite). */
import { expect, test } from 'vitest'
import { signedHeaders } from './sigv4.ts'

const KEYS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' }
const AT = Date.parse('2015-08-30T12:36:00Z')

test.each([
  {
    name: 'get-vanilla',
    url: 'https://example.amazonaws.com/',
    want: '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
  },
  {
    name: 'get-vanilla-query-order-key-case',
    url: 'https://example.amazonaws.com/?Param2=value2&Param1=value1',
    want: 'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  },
])('$name', ({ url, want }) => {
  const headers = signedHeaders({ method: 'GET', url }, KEYS, { region: 'us-east-1', service: 'service' }, AT)
  expect(headers['authorization']).toBe(
    `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, Signature=${want}`,
  )
})

test('S3 has its body signed too, and its path once', () => {
  const at = (service: string) =>
    signedHeaders({ method: 'GET', url: 'https://h/a%20b' }, KEYS, { region: 'r', service }, AT)
  expect(at('s3')['x-amz-content-sha256']).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
  expect(at('glue')['x-amz-content-sha256']).toBeUndefined()
})
