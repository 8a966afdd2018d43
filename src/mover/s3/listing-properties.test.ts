/** Tests the properties of every listing that a server may send. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseListing } from '../../s3/listing.ts'
import { choose } from '../objects/select.ts'

const piece = fc.oneof(
  fc.constantFrom(
    ...[
      '<Contents>',
      '</Contents>',
      '<Key>',
      '</Key>',
      '<Size>',
      '</Size>',
      '1',
      '-1',
      '1e3',
      '0x1',
      '99999999999999999999',
    ],
    ...[
      '<ETag>',
      '</ETag>',
      '&quot;',
      '&#0;',
      '&#x110000;',
      '&#xD800;',
      '&#13;&#10;',
      '&amp;',
      '%00',
      '%E0%A4',
      '%',
      '+',
    ],
    ...[
      '<EncodingType>url</EncodingType>',
      '<IsTruncated>true</IsTruncated>',
      '<NextContinuationToken>',
      '</NextContinuationToken>',
    ],
    ...['../', './', '/', '//', 'a', 'a/', '\n', '<!--', ']]>', '<ListBucketResult>', '</ListBucketResult>'],
  ),
  fc.string({ unit: 'binary', maxLength: 8 }),
)
const xml = fc
  .array(piece, { maxLength: 30 })
  .map((pieces) => `<ListBucketResult>${pieces.join('')}</ListBucketResult>`)

const place = { url: '', container: 'lake', globRoot: '', key: '', recursive: true }

test('a page is rejected, or has objects with keys, valid sizes and valid ETags', () => {
  fc.assert(
    fc.property(xml, (text) => {
      const page = parseListing(text)
      for (const { key, size, etag } of page?.objects ?? []) {
        expect(key).not.toBe('')
        expect(Number.isSafeInteger(size) && size >= 0).toBe(true)
        expect(etag).toMatch(/^[\x20-\x7e]*$/)
      }
      const { next = '' } = page ?? {}
      expect(next.isWellFormed() && next.length <= 4096).toBe(true)
    }),
    { numRuns: 3_000 },
  )
})

test('a key becomes a path below the target, or no path', () => {
  const part = fc.constantFrom('a', '..', '.', '', ' ', '...', 'ö', '\0', '\n', '\uD800', '%2e%2e', 'x'.repeat(256))
  const key = fc.array(part, { maxLength: 5 }).map((parts) => parts.join('/'))
  fc.assert(
    fc.property(fc.oneof(key, fc.string({ unit: 'binary' })), fc.boolean(), (text, flat) => {
      const chosen = choose({ key: text, size: 0 }, { place, match: [], exclude: [], flat })
      if (chosen.kind !== 'file' && chosen.kind !== 'folder') return
      const { path } = chosen
      expect(path.startsWith('/') || path.includes('\0') || !path.isWellFormed()).toBe(false)
      expect(path.split('/').filter((segment) => ['', '.', '..'].includes(segment))).toEqual([])
      expect(flat && path.includes('/')).toBe(false)
    }),
    { numRuns: 3_000 },
  )
})

test.each([
  { what: 'objects that never end', filler: '<Contents>' },
  { what: 'keys that never end', filler: '<Contents><Key>' },
  { what: 'blanks', filler: ' ' },
  { what: 'ends', filler: '</ListBucketResult> ' },
])(
  'a page of the maximum length with $what is parsed in linear time',
  ({ filler }) => {
    const text = `<ListBucketResult>${filler.repeat(Math.floor((16 * 1024 * 1024) / filler.length))}`
    const started = performance.now()
    parseListing(text)
    parseListing(`${text}x</ListBucketResult>`)
    // A quiet machine needs a tenth of this time; quadratic time would be hours.
    expect(performance.now() - started).toBeLessThan(20_000)
  },
  60_000,
)
