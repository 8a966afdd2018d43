/** Builds the request body that completes an S3 upload in parts. */

/** Returns the body of CompleteMultipartUpload; part numbers begin with 1. */
export function completeMultipartBody(etags: readonly string[]): string {
  const parts = etags.map((etag, i) => `<Part><PartNumber>${i + 1}</PartNumber><ETag>"${etag}"</ETag></Part>`)
  return `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${parts.join('')}</CompleteMultipartUpload>`
}
