/** Generators of responses of a broken or hostile data system: valid responses with random changes, and random bytes. */
import { deflateSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import type { DataAnswer } from '../http/data-server.fake.ts'

const MIB = 1024 * 1024

/** Values that break parsers. */
const ODD_VALUES = [
  null,
  true,
  -1,
  0.5,
  1e308,
  2 ** 53,
  '',
  '\u0000',
  '\ud800',
  'a'.repeat(5_000),
  '../..',
  '%',
  '%ff',
  'http://127.0.0.1:1/',
  's3://a?region=',
  '://',
  [],
  {},
  [[]],
  [null],
  { __proto__: null },
  { toString: 1 },
  { constructor: { prototype: {} } },
] as const

const odd: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...ODD_VALUES) },
  { weight: 1, arbitrary: fc.jsonValue() },
  { weight: 1, arbitrary: fc.string({ unit: 'binary-ascii' }) },
  { weight: 1, arbitrary: fc.array(fc.integer(), { minLength: 200, maxLength: 300 }) },
)

/** A valid value in which any part may be replaced. */
function mutated(valid: unknown): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 6, arbitrary: mutatedParts(valid) }, { weight: 1, arbitrary: odd })
}

function mutatedParts(valid: unknown): fc.Arbitrary<unknown> {
  if (Array.isArray(valid)) return fc.array(mutated(valid[0]), { maxLength: 4 })
  if (typeof valid !== 'object' || valid === null) return fc.constant(valid)
  const members = Object.fromEntries(Object.entries(valid).map(([key, value]) => [key, mutated(value)]))
  return fc.record(members)
}

/** Texts that are expensive or impossible to parse. */
const HARD_TEXTS = [
  '',
  ' ',
  '{',
  'null',
  '[]',
  '"',
  '\uFEFF\uFEFF{}',
  '<html></html>',
  '<ListBucketResult></ListBucketResult>',
  '['.repeat(200_000),
  `${'['.repeat(100_000)}${']'.repeat(100_000)}`,
  '{"a":'.repeat(100_000),
  `[${'0,'.repeat(200_000)}0]`,
  `{"metadata":{"location":"s3://a","snapshots":[${'{"snapshot-id":1},'.repeat(50_000)}{}]}}`,
  `<ListBucketResult>${'<Contents>'.repeat(100_000)}</ListBucketResult>`,
  ' '.repeat(9 * MIB),
]

function textOf(valid: unknown): string {
  return typeof valid === 'string' ? valid : (JSON.stringify(valid) ?? '')
}

/** A text with an inserted piece, which sometimes replaces the rest. */
function mutatedText(valid: string): fc.Arbitrary<string> {
  const piece = fc.constantFrom('', '<Contents>', '</Contents>', '<Size>-1</Size>', '&#x110000;', '%zz', '9'.repeat(30))
  return fc
    .tuple(fc.nat({ max: valid.length }), piece, fc.nat({ max: 9 }))
    .map(([at, text, cut]) => valid.slice(0, at) + text + (cut === 0 ? '' : valid.slice(at)))
}

/** Encodings: none, valid, truncated, and declared but missing. */
const ENCODINGS: readonly ((text: string) => Pick<DataAnswer, 'headers' | 'body'>)[] = [
  (body) => ({ body }),
  (body) => ({ body }),
  (body) => ({ body: gzipSync(body), headers: { 'content-encoding': 'gzip' } }),
  (body) => ({ body: gzipSync(body).subarray(0, -3), headers: { 'content-encoding': 'gzip' } }),
  (body) => ({ body, headers: { 'content-encoding': 'gzip' } }),
  (body) => ({ body: deflateSync(body), headers: { 'content-encoding': 'deflate' } }),
]

const headers = fc.record(
  {
    etag: fc.constantFrom('"v1"', 'ü', '"'.repeat(9), 'a'.repeat(5_000), ''),
    'retry-after': fc.constantFrom('-1', '9'.repeat(400), 'soon', '0'),
    'x-amz-bucket-region': fc.constantFrom('eu-west-1', '', 'a.evil.example', '-'.repeat(100)),
    'content-type': fc.constantFrom('text/html', 'application/json; charset=utf-16', ''),
    location: fc.constantFrom('/', '//127.0.0.1:1/', 'http://[', 'javascript:1', '?a=b'),
  },
  { requiredKeys: [] },
)

const status = fc.oneof(
  { weight: 8, arbitrary: fc.constant(200) },
  { weight: 3, arbitrary: fc.constantFrom(204, 301, 304, 307, 400, 401, 403, 404, 419, 429, 500, 503, 599) },
)

/** Responses to a request with a valid response: that one, changed ones, and random ones. */
export function answersLike(valid: unknown, always: Record<string, string>): fc.Arbitrary<DataAnswer> {
  const plain = (body: string): DataAnswer => ({ headers: always, body })
  const text = textOf(valid)
  const wrong = typeof valid === 'string' ? mutatedText(valid) : mutated(valid).map(textOf)
  const texts = fc.oneof(fc.constant(text), wrong, fc.constantFrom(...HARD_TEXTS), fc.string({ unit: 'binary-ascii' }))
  const anything = fc
    .tuple(status, headers, texts, fc.constantFrom(...ENCODINGS))
    .map(([code, given, body, encode]) => {
      const encoded = encode(body)
      return { ...encoded, status: code, headers: { ...always, ...given, ...encoded.headers } }
    })
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant(plain(text)) },
    { weight: 4, arbitrary: wrong.map(plain) },
    { weight: 2, arbitrary: anything },
  )
}
