/** Tests pages of Azure's List Blobs. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseBlobListing } from './listing.ts'

const page = (blobs: string, end = '<NextMarker />') =>
  `\uFEFF<?xml version="1.0" encoding="utf-8"?><EnumerationResults ServiceEndpoint="https://a/" ContainerName="lake"><Blobs>${blobs}</Blobs>${end}</EnumerationResults>`

const blob = (name: string, properties: string, rest = '') =>
  `<Blob>${name}<Properties>${properties}</Properties>${rest}</Blob>`

const named = (name: string) => blob(`<Name>${name}</Name>`, '<Etag>0x8D</Etag><Content-Length>5</Content-Length>')
const folder = (properties: string, metadata: string) =>
  blob('<Name>a</Name>', `<Etag>0x8D</Etag>${properties}`, `<Metadata>${metadata}</Metadata>`)
const EMPTY = '<Content-Length>0</Content-Length>'
const a = { key: 'a', size: 5, etag: '0x8D' }

describe('a page', () => {
  test.each([
    { name: 'without blobs', xml: page(''), want: { objects: [] } },
    { name: 'that is the last', xml: page(named('a')), want: { objects: [a] } },
    { name: 'with an empty marker', xml: page('', '<NextMarker></NextMarker>'), want: { objects: [] } },
    {
      name: 'that is not the last',
      xml: page(named('a'), '<NextMarker>2!108!MDAw</NextMarker>'),
      want: { objects: [a], next: '2!108!MDAw' },
    },
    {
      name: 'with an MD5 and quotes around the ETag',
      xml: page(
        blob(
          '<Name>a</Name>',
          '<Etag>"0x8D"</Etag><Content-Length>5</Content-Length><Content-MD5>1B2M2Y8AsgTpgAmY7PhCfg==</Content-MD5>',
        ),
      ),
      want: { objects: [{ ...a, md5: 'd41d8cd98f00b204e9800998ecf8427e' }] },
    },
    {
      name: 'with an MD5 of a wrong length',
      xml: page(
        blob('<Name>a</Name>', '<Etag>0x8D</Etag><Content-Length>5</Content-Length><Content-MD5>AAAA</Content-MD5>'),
      ),
      want: { objects: [a] },
    },
    {
      name: 'with an escaped name',
      xml: page(named('a &amp; &lt;Blob&gt;')),
      want: { objects: [{ ...a, key: 'a & <Blob>' }] },
    },
    {
      name: 'with an encoded name',
      xml: page(blob('<Name Encoded="true">a%01%25</Name>', '<Etag>0x8D</Etag><Content-Length>5</Content-Length>')),
      want: { objects: [{ ...a, key: 'a\u0001%' }] },
    },
    {
      name: 'with metadata that has the names of properties and of blobs',
      xml: page(
        blob(
          '<Name>a</Name>',
          '<Content-Length>5</Content-Length><Etag>0x8D</Etag>',
          '<Metadata><Etag>0x9</Etag><Blob>x</Blob><Name>b</Name></Metadata>',
        ) + named('b'),
      ),
      want: { objects: [a, { ...a, key: 'b' }] },
    },
    { name: 'with a directory', xml: page(folder(EMPTY, '<hdi_isfolder>true</hdi_isfolder>')), want: { objects: [] } },
    {
      name: 'with a directory in capitals',
      xml: page(folder(EMPTY, '<Hdi_isfolder>True</Hdi_isfolder>')),
      want: { objects: [] },
    },
    {
      name: 'with a directory by its type',
      xml: page(folder(`${EMPTY}<ResourceType>directory</ResourceType>`, '')),
      want: { objects: [] },
    },
    {
      name: 'with data that calls itself a directory',
      xml: page(folder('<Content-Length>5</Content-Length>', '<hdi_isfolder>true</hdi_isfolder>')),
      want: { objects: [a] },
    },
  ])('$name', ({ xml, want }) => {
    expect(parseBlobListing(xml)).toEqual(want)
  })

  test.each([
    { name: 'without a name', xml: page(blob('', '<Etag>0x8D</Etag><Content-Length>5</Content-Length>')) },
    { name: 'without a size', xml: page(blob('<Name>a</Name>', '<Etag>0x8D</Etag>')) },
    { name: 'with a negative size', xml: page(blob('<Name>a</Name>', '<Content-Length>-5</Content-Length>')) },
    {
      name: 'with a size in the metadata',
      xml: page(blob('<Name>a</Name>', '', '<Content-Length>5</Content-Length>')),
    },
    { name: 'with a line break in an ETag', xml: page(named('a').replace('0x8D', '0x&#10;8D')) },
    { name: 'with a name that cannot be decoded', xml: page(named('%ff').replace('<Name>', '<Name Encoded="true">')) },
    { name: 'without a marker', xml: page('', '') },
    { name: 'with a marker that is too long', xml: page('', `<NextMarker>${'x'.repeat(8193)}</NextMarker>`) },
    { name: 'that is cut', xml: page(named('a')).slice(0, -5) },
    { name: 'of S3', xml: '<ListBucketResult></ListBucketResult>' },
    { name: 'of HTML', xml: '<html><body>EnumerationResults</body></html>' },
  ])('$name is rejected', ({ xml }) => {
    expect(parseBlobListing(xml)).toBeUndefined()
  })
})

test('any name arrives as it is, and metadata changes nothing', () => {
  const escaped = (text: string) =>
    text.replace(/[&<>]/g, (char) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[char] ?? '')
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), fc.string({ unit: 'binary' }), (name, value) => {
      const metadata = `<Metadata><note>${escaped(value)}</note></Metadata>`
      const xml = page(
        blob(`<Name>${escaped(name)}</Name>`, '<Etag>0x8D</Etag><Content-Length>5</Content-Length>', metadata),
      )
      expect(parseBlobListing(xml)).toEqual({ objects: [{ ...a, key: name }] })
    }),
  )
})
