/** Tests the hash functions of Node with one example of AWS. The tests of the signer are in core. */
import { expect, test } from 'vitest'
import { signedHeaders } from './auth.ts'

test('get-vanilla', () => {
  const keys = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' }
  const scope = { region: 'us-east-1', service: 'service' }
  const request = { method: 'GET', url: 'https://example.amazonaws.com/' } as const
  expect(signedHeaders(request, keys, scope, Date.parse('2015-08-30T12:36:00Z'))['authorization']).toBe(
    'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
  )
})
