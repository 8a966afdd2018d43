/** Tests when the signer keeps a derived key, and when it derives another. */
import { createHash, createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { createSigner, type Digest } from './sigv4.ts'

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

test.each([
  { name: 'the same secret on the same day', keys: FIRST, at: EVENING, derived: 1 },
  { name: 'another secret', keys: OTHER, at: EVENING, derived: 2 },
  { name: 'another day', keys: FIRST, at: NEXT_DAY, derived: 2 },
])('a second request with $name is signed rightly, with $derived keys derived in all', ({ keys, at, derived }) => {
  const digest = countingDigest()
  const sign = createSigner(SCOPE, digest)
  sign(REQUEST, FIRST, NOON)
  expect(sign(REQUEST, keys, at)).toEqual(createSigner(SCOPE, countingDigest())(REQUEST, keys, at))
  expect(digest.derived).toBe(derived)
})
