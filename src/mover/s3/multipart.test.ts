import { expect, test } from 'vitest'
import { completeMultipartBody } from './upload-file.ts'

test('the parts of an upload are numbered from 1, with their ETags', () => {
  expect(completeMultipartBody(['aa', 'bb'])).toBe(
    '<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">' +
      '<Part><PartNumber>1</PartNumber><ETag>"aa"</ETag></Part><Part><PartNumber>2</PartNumber><ETag>"bb"</ETag></Part>' +
      '</CompleteMultipartUpload>',
  )
})
