/** Parses the URL of data: `s3://bucket/key`, or `s3://bucket/prefix/` for everything below it, as in VCK. */
import { isBucketName } from '../s3/address.ts'

export interface S3Place {
  bucket: string
  /** A key, or a prefix: empty, or with a slash at the end. */
  key: string
  /** Whether it is a prefix, and not one object. */
  recursive: boolean
}

/** Parses an S3 URL; undefined for any other text. A URL with only a bucket includes all of its objects. */
export function parseS3Url(url: string): S3Place | undefined {
  const [, bucket = '', key = ''] = /^s3:\/\/([^/]*)(?:\/(.*))?$/is.exec(url) ?? []
  if (!isBucketName(bucket)) return undefined
  return { bucket, key, recursive: key === '' || key.endsWith('/') }
}

/** Formats a place for messages: `s3://bucket/key`. */
export function s3Url({ bucket, key }: Pick<S3Place, 'bucket' | 'key'>): string {
  return `s3://${bucket}/${key}`
}
