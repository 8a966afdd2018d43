/** Tests pages of a bucket's listing. */
import { expect, test } from 'vitest'
import { parseListing } from './listing.ts'

const page = (inner: string) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="x">${inner}</ListBucketResult>\n`

test.each([
  { name: 'an empty page', xml: page('<KeyCount>0</KeyCount>'), want: { objects: [] } },
  {
    name: 'a page without an XML declaration',
    xml: '<ListBucketResult><KeyCount>0</KeyCount></ListBucketResult>',
    want: { objects: [] },
  },
  {
    name: 'a page with a byte order mark, and white space around its declaration',
    xml: '\uFEFF \n<?xml version="1.0"?> \n <ListBucketResult></ListBucketResult>',
    want: { objects: [] },
  },
  {
    name: 'objects with keys that look like markup',
    xml: page(
      '<Contents><Key>&lt;Size&gt;9&lt;/Size&gt;</Key><ETag>&quot;e-1&quot;</ETag><Size>5</Size></Contents><Contents><Key>b</Key><ETag>"f"</ETag><Size>7</Size></Contents>',
    ),
    want: {
      objects: [
        { key: '<Size>9</Size>', size: 5, etag: 'e-1' },
        { key: 'b', size: 7, etag: 'f' },
      ],
    },
  },
  {
    name: 'keys that the store encoded',
    xml: page('<EncodingType>url</EncodingType><Contents><Key>a+b%2B%0A/%C3%A9</Key><Size>5</Size></Contents>'),
    want: { objects: [{ key: 'a b+\n/é', size: 5, etag: '' }] },
  },
  {
    name: 'a key with a percent sign that is not encoded',
    xml: page('<Contents><Key>100%+x</Key><Size>1</Size></Contents>'),
    want: { objects: [{ key: '100%+x', size: 1, etag: '' }] },
  },
  {
    name: 'a truncated page',
    xml: page(
      '<IsTruncated>true</IsTruncated><NextContinuationToken>1&#x2B;&amp;&#47;=</NextContinuationToken><Contents><Key>a</Key><Size>1</Size></Contents>',
    ),
    want: { objects: [{ key: 'a', size: 1, etag: '' }], next: '1+&/=' },
  },
  {
    name: 'a truncated page without a token',
    xml: page('<IsTruncated>true</IsTruncated><Contents><Key>a</Key><Size>1</Size></Contents>'),
    want: undefined,
  },
  ...['', '<IsTruncated>True</IsTruncated>', '<IsTruncated> true </IsTruncated>'].map((truncated) => ({
    name: `a page with a token and "${truncated}"`,
    xml: page(`${truncated}<NextContinuationToken>t</NextContinuationToken>`),
    want: { objects: [], next: 't' },
  })),
  {
    name: 'the last page, with an empty token',
    xml: page('<IsTruncated>false</IsTruncated><NextContinuationToken></NextContinuationToken>'),
    want: { objects: [] },
  },
  {
    name: 'the last page, with a token',
    xml: page('<IsTruncated>false</IsTruncated><NextContinuationToken>t</NextContinuationToken>'),
    want: { objects: [] },
  },
  { name: 'an object without a key', xml: page('<Contents><Size>1</Size></Contents>'), want: undefined },
  {
    name: 'an object without a key on a page of encoded keys',
    xml: page('<EncodingType>url</EncodingType><Contents><Size>1</Size></Contents>'),
    want: undefined,
  },
  { name: 'an object without a size', xml: page('<Contents><Key>a</Key></Contents>'), want: undefined },
  {
    name: 'an object that does not end, which is left out',
    xml: page('<Contents><Key>a</Key><Size>1</Size>'),
    want: { objects: [] },
  },
  {
    name: 'an ETag with a quote inside',
    xml: page('<Contents><Key>a</Key><Size>1</Size><ETag>"a"b"</ETag></Contents>'),
    want: { objects: [{ key: 'a', size: 1, etag: 'a"b' }] },
  },
  {
    name: 'an ETag with a line break, which would end a header',
    xml: page('<Contents><Key>a</Key><Size>1</Size><ETag>"a&#10;b"</ETag></Contents>'),
    want: undefined,
  },
  { name: 'an invalid size', xml: page('<Contents><Key>a</Key><Size>-1</Size></Contents>'), want: undefined },
  {
    name: 'a key with invalid encoding',
    xml: page('<EncodingType>url</EncodingType><Contents><Key>100%</Key><Size>1</Size></Contents>'),
    want: undefined,
  },
  {
    name: 'references to invalid characters',
    xml: page('<Contents><Key>&#x110000;&#xD800;&#99999999999;&constructor;&#x41;</Key><Size>1</Size></Contents>'),
    want: { objects: [{ key: '&#x110000;&#xD800;&#99999999999;&constructor;A', size: 1, etag: '' }] },
  },
  {
    name: 'a token of the maximum length',
    xml: page(`<IsTruncated>true</IsTruncated><NextContinuationToken>${'a'.repeat(4_096)}</NextContinuationToken>`),
    want: { objects: [], next: 'a'.repeat(4_096) },
  },
  {
    name: 'a token above the maximum length',
    xml: page(`<IsTruncated>true</IsTruncated><NextContinuationToken>${'a'.repeat(4_097)}</NextContinuationToken>`),
    want: undefined,
  },
  { name: 'the last page', xml: page('<IsTruncated>false</IsTruncated>'), want: { objects: [] } },
  { name: 'an incomplete page', xml: '<ListBucketResult><Contents><Size>1</Size>', want: undefined },
  { name: 'an error', xml: '<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>', want: undefined },
  { name: 'a listing inside of HTML', xml: '<html><ListBucketResult></ListBucketResult>', want: undefined },
  { name: 'HTML', xml: '<html><ListBucketResult></ListBucketResult></html>', want: undefined },
])('$name', ({ xml, want }) => {
  expect(parseListing(xml)).toEqual(want)
})
