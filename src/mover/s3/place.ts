/** Parses the URL of data on S3: `s3://bucket/key`, or `s3://bucket/prefix/` for everything below it, as in VCK. */
import type { ObjectPlace } from '../../base/objects.ts'
import { isBucketName } from '../../s3/address.ts'

/** Parses an S3 URL; undefined for any other text. A URL with only a bucket includes all of its objects. */
export function parseS3Url(url: string): ObjectPlace | undefined {
  const [, bucket = '', key = ''] = /^s3:\/\/([^/]*)(?:\/(.*))?$/is.exec(url) ?? []
  if (!isBucketName(bucket)) return undefined
  const recursive = key === '' || key.endsWith('/')
  // VCK's globs are those of `mc find --path`, which match the whole path with the alias of the server.
  return { url: `s3://${bucket}/${key}`, container: bucket, globRoot: `s3/${bucket}/`, key, recursive }
}
