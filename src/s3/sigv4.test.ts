/** Tests signatures against the examples that AWS publishes, and how often the signer derives a key. */
import { createHash, createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createSigner, type Digest, type Signer } from './sigv4.ts'

type RequestToSign = Parameters<Signer>[0]

const EMPTY_HASH = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

const SCOPE = { region: 'eu-north-1', service: 's3' }
const REQUEST = { method: 'GET', host: 'h', path: '/lake/a', query: [], bodyHash: 'e3b0' }
const FIRST = { accessKeyId: 'A', secretAccessKey: 'first' }
const OTHER = { accessKeyId: 'A', secretAccessKey: 'other' }
const NOON = Date.parse('2026-11-20T12:00:00Z')
const EVENING = Date.parse('2026-11-20T23:59:59Z')
const NEXT_DAY = Date.parse('2026-11-21T00:00:00Z')

/** Counts the keys that are derived. */
function countingDigest(): Digest & { derived: number } {
  const hmac = (key: string | Uint8Array, text: string) => createHmac('sha256', key).update(text).digest()
  return {
    derived: 0,
    sha256: (text) => createHash('sha256').update(text).digest('hex'),
    hmac,
    hmacsBy(key) {
      this.derived += 1
      return (text) => hmac(key, text).toString('hex')
    },
  }
}

test('a path whose escapes form no valid text is signed as it is', () => {
  const sign = createSigner(SCOPE, countingDigest())
  const signatureOf = (path: string) => sign({ ...REQUEST, path }, FIRST, NOON)['authorization']
  expect(signatureOf('/lake/%zz')).toBe(signatureOf('/lake/%25zz'))
  expect(signatureOf('/lake/%E2%82')).toBe(signatureOf('/lake/%25E2%2582'))
})

describe('the examples of S3 (sig-v4-header-based-auth.html)', () => {
  const keys = { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' }
  const request = { method: 'GET', host: 'examplebucket.s3.amazonaws.com', path: '/', query: [], bodyHash: EMPTY_HASH }
  const sign = createSigner({ region: 'us-east-1', service: 's3' }, countingDigest())

  test.each<{ name: string; given: Partial<RequestToSign>; signed: string; signature: string }>([
    {
      name: 'GET Object, with a signed header',
      given: { path: '/test.txt', amzHeaders: { range: 'bytes=0-9' } },
      signed: 'host;range;x-amz-content-sha256;x-amz-date',
      signature: 'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    },
    {
      name: 'PUT Object, with a body and an encoded path',
      given: {
        method: 'PUT',
        path: '/test%24file.text',
        bodyHash: '44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072',
        amzHeaders: { date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' },
      },
      signed: 'date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class',
      signature: '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
    },
    {
      name: 'GET Bucket Lifecycle, with a parameter without a value',
      given: { query: [['lifecycle', '']] },
      signed: 'host;x-amz-content-sha256;x-amz-date',
      signature: 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
    },
    {
      name: 'List Objects, with unsorted parameters',
      given: {
        query: [
          ['prefix', 'J'],
          ['max-keys', '2'],
        ],
      },
      signed: 'host;x-amz-content-sha256;x-amz-date',
      signature: '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
    },
  ])('$name', ({ given, signed, signature }) => {
    const { bodyHash, amzHeaders } = { ...request, ...given }
    expect(sign({ ...request, ...given }, keys, Date.parse('2013-05-24T00:00:00Z'))).toEqual({
      ...amzHeaders,
      host: request.host,
      'x-amz-content-sha256': bodyHash,
      'x-amz-date': '20130524T000000Z',
      authorization: `AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders=${signed}, Signature=${signature}`,
    })
  })
})

describe('the examples of the other services (aws-sig-v4-test-suite)', () => {
  const keys = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' }
  const sessionToken =
    'AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=='
  const request = { method: 'GET', host: 'example.amazonaws.com', path: '/', query: [], bodyHash: EMPTY_HASH }
  const sign = createSigner({ region: 'us-east-1', service: 'service' }, countingDigest())

  test.each<{ name: string; given: Partial<RequestToSign>; token?: string; signature: string }>([
    {
      name: 'get-vanilla',
      given: {},
      signature: '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
    },
    {
      name: 'get-vanilla-query-order-key-case',
      given: {
        query: [
          ['Param2', 'value2'],
          ['Param1', 'value1'],
        ],
      },
      signature: 'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
    },
    {
      name: 'get-unreserved',
      given: { path: '/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz' },
      signature: '07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f',
    },
    {
      name: 'post-sts-header-before',
      given: { method: 'POST' },
      token: sessionToken,
      signature: '85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead',
    },
  ])('$name', ({ given, token, signature }) => {
    const signed = token ? 'host;x-amz-date;x-amz-security-token' : 'host;x-amz-date'
    expect(
      sign({ ...request, ...given }, { ...keys, sessionToken: token }, Date.parse('2015-08-30T12:36:00Z')),
    ).toEqual({
      host: request.host,
      'x-amz-date': '20150830T123600Z',
      'x-amz-security-token': token,
      authorization: `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=${signed}, Signature=${signature}`,
    })
  })
})

/** The path in the first text that a signer hashes, which is the canonical request. */
function canonicalPath(service: string, path: string): string | undefined {
  const hashed: string[] = []
  const digest = { ...countingDigest(), sha256: (text: string) => `${hashed.push(text)}` }
  createSigner({ ...SCOPE, service }, digest)({ ...REQUEST, path }, FIRST, NOON)
  return hashed[0]?.split('\n')[1]
}

test.each([
  { name: 'S3 as it is sent', service: 's3', want: '/documents%20and%20settings/a%2Bb' },
  { name: 'another service, encoded twice', service: 'glue', want: '/documents%2520and%2520settings/a%252Bb' },
])('signs the path of $name', ({ service, want }) => {
  expect(canonicalPath(service, '/documents%20and%20settings/a%2Bb')).toBe(want)
})

test.each([
  { name: 'the same secret on the same day', keys: FIRST, at: EVENING, derived: 1 },
  { name: 'another secret', keys: OTHER, at: EVENING, derived: 2 },
  { name: 'another day', keys: FIRST, at: NEXT_DAY, derived: 2 },
])('a second request with $name has a valid signature, and $derived keys in total', ({ keys, at, derived }) => {
  const digest = countingDigest()
  const sign = createSigner(SCOPE, digest)
  sign(REQUEST, FIRST, NOON)
  expect(sign(REQUEST, keys, at)).toEqual(createSigner(SCOPE, countingDigest())(REQUEST, keys, at))
  expect(digest.derived).toBe(derived)
})
