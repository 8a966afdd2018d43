/** Builds the URLs of buckets. */

export const AWS_ENDPOINT = 'https://s3.amazonaws.com'

/** Why a bucket cannot be in the host name of an endpoint; undefined if it can. */
export function virtualHostFault(endpoint: string, bucket: string): string | undefined {
  if (bucket.includes('.')) return undefined
  const host = /^[^:]+:\/\/(\[[^\]]*\]|[^:/]*)/.exec(endpoint)?.[1] ?? ''
  const isAddress = host.startsWith('[') || /(^|\.)(\d+|0x[0-9a-f]*)\.?$/i.test(host)
  return isAddress ? `the endpoint ${host} is an IP address, which cannot have the bucket in its host name` : undefined
}

/** Returns the URL of a bucket. The name of a bucket with dots stays in the path: as a host name, it would not match the certificate. */
export function bucketUrl(base: string, bucket: string, region: string | undefined, pathStyle: boolean): string {
  const endpoint = base === AWS_ENDPOINT && region !== undefined ? `https://s3.${region}.amazonaws.com` : base
  const trimmed = endpoint.replace(/\/$/, '')
  if (pathStyle || bucket.includes('.')) return `${trimmed}/${bucket}`
  return trimmed.replace('://', `://${bucket}.`)
}

/** Whether a bucket name is safe in a URL. S3 itself checks its other rules. */
export function isBucketName(name: string): boolean {
  return /^[a-z0-9][a-z0-9._-]{1,253}[a-z0-9]$/i.test(name) && !name.includes('..')
}
