/** Builds the URLs of buckets and objects, with their names encoded. */

export const AWS_ENDPOINT = 'https://s3.amazonaws.com'

/** Returns the URL of a bucket. The name of a bucket with dots stays in the path: as a host name, it would not match the certificate. */
export function bucketUrl(base: string, bucket: string, region: string | undefined, pathStyle: boolean): string {
  const endpoint = base === AWS_ENDPOINT && region !== undefined ? `https://s3.${region}.amazonaws.com` : base
  const trimmed = endpoint.replace(/\/$/, '')
  if (pathStyle || bucket.includes('.')) return `${trimmed}/${bucket}`
  return trimmed.replace('://', `://${bucket}.`)
}

/** Encodes all characters but letters, digits and `-_.~` (RFC 3986), as S3 requires for signatures. */
export function encodeStrictly(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** Encodes a key as the path of a URL, without a leading slash. */
export function keyPath(key: string): string {
  return key.split('/').map(encodeStrictly).join('/')
}

/** Whether a bucket name is safe in a URL. S3 itself checks its other rules. */
export function isBucketName(name: string): boolean {
  return /^[a-z0-9][a-z0-9._-]{1,253}[a-z0-9]$/i.test(name) && !name.includes('..')
}
