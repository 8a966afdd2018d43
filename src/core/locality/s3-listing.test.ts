/** Pages of a bucket's listing. */
import { expect, test } from 'vitest'
import { parseListing } from './s3-listing.ts'

const page = (inner: string) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="x">${inner}</ListBucketResult>\n`

test.each([
  { name: 'an empty page', xml: page('<KeyCount>0</KeyCount>'), want: { bytes: 0, objects: 0 } },
  {
    name: 'objects whose keys look like markup',
    xml: page(
      '<Contents><Key>&lt;Size&gt;9&lt;/Size&gt;</Key><Size>5</Size></Contents><Contents><Size>7</Size></Contents>',
    ),
    want: { bytes: 12, objects: 2 },
  },
  {
    name: 'a page with more to come',
    xml: page(
      '<IsTruncated>true</IsTruncated><NextContinuationToken>1&#x2B;&amp;&#47;=</NextContinuationToken><Contents><Size>1</Size></Contents>',
    ),
    want: { bytes: 1, objects: 1, next: '1+&/=' },
  },
  { name: 'the last page', xml: page('<IsTruncated>false</IsTruncated>'), want: { bytes: 0, objects: 0 } },
  { name: 'a page that was cut', xml: '<ListBucketResult><Contents><Size>1</Size>', want: undefined },
  { name: 'an error', xml: '<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>', want: undefined },
  { name: 'HTML', xml: '<html><ListBucketResult></ListBucketResult></html>', want: undefined },
])('$name', ({ xml, want }) => {
  expect(parseListing(xml)).toEqual(want)
})
