/** Reads where data comes from or goes to: `s3://bucket/key`, or `s3://bucket/prefix/` for all below it, as VCK has it. */
import { isBucketName } from '../s3/address.ts'

export interface S3Place {
  bucket: string
  /** A key, or a prefix that is empty or ends in a slash. */
  key: string
  /** Whether it is everything below, or one object. */
  recursive: boolean
}

/** Reads an S3 URL; undefined for anything else. A bucket alone is everything in it. */
export function parseS3Url(url: string): S3Place | undefined {
  const [, bucket = '', key = ''] = /^s3:\/\/([^/]*)(?:\/(.*))?$/is.exec(url) ?? []
  if (!isBucketName(bucket)) return undefined
  return { bucket, key, recursive: key === '' || key.endsWith('/') }
}

/** `s3://bucket/key`, as messages name it. */
export function s3Url({ bucket, key }: Pick<S3Place, 'bucket' | 'key'>): string {
  return `s3://${bucket}/${key}`
}
