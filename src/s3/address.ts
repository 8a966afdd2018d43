/** Builds the URLs of buckets. */

export const AWS_ENDPOINT = 'https://s3.amazonaws.com'

/** The domains of AWS's partitions that have another one, by the beginnings of their regions (partitions.json of the AWS SDKs). */
const DOMAINS: readonly (readonly [beginning: string, domain: string])[] = [
  ['cn-', 'amazonaws.com.cn'],
  ['eusc-', 'amazonaws.eu'],
]

/** Returns the domain of a region of AWS. */
export function awsDomain(region: string): string {
  return DOMAINS.find(([beginning]) => region.startsWith(beginning))?.[1] ?? 'amazonaws.com'
}

/** Why a bucket cannot be in the host name of an endpoint; undefined if it can. */
export function virtualHostFault(endpoint: string, bucket: string): string | undefined {
  if (needsPath(bucket)) return undefined
  const host = /^[^:]+:\/\/(\[[^\]]*\]|[^:/]*)/.exec(endpoint)?.[1] ?? ''
  const isAddress = host.startsWith('[') || /(^|\.)(\d+|0x[0-9a-f]*)\.?$/i.test(host)
  return isAddress ? `the endpoint ${host} is an IP address, which cannot have the bucket in its host name` : undefined
}

/**
 * Whether the name of a bucket stays in the path. With dots, it would not match the certificate of the host. A host name has no capital
 * letters, so it would name another bucket, and no part of it has more than 63 characters. AWS has old buckets with such names.
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/VirtualHosting.html
 */
function needsPath(bucket: string): boolean {
  return /[A-Z.]/.test(bucket) || bucket.length > 63
}

/** Returns the URL of a bucket. A name that cannot be in a host name is in the path. */
export function bucketUrl(base: string, bucket: string, region: string | undefined, pathStyle: boolean): string {
  const endpoint = base === AWS_ENDPOINT && region !== undefined ? `https://s3.${region}.${awsDomain(region)}` : base
  const trimmed = endpoint.replace(/\/$/, '')
  if (pathStyle || needsPath(bucket)) return `${trimmed}/${bucket}`
  return trimmed.replace('://', `://${bucket}.`)
}

/** Whether a bucket name is safe in a URL. S3 itself checks its other rules. */
export function isBucketName(name: string): boolean {
  return /^[a-z0-9][a-z0-9._-]{1,253}[a-z0-9]$/i.test(name) && !name.includes('..')
}
