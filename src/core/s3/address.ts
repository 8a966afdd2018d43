/** Where buckets and objects are, and how their names are written in a URL. */

export const AWS_ENDPOINT = 'https://s3.amazonaws.com'

/** Where a bucket is. By host name, one with dots in its name would not match the certificate: such a bucket stays in the path. */
export function bucketUrl(base: string, bucket: string, region: string | undefined, pathStyle: boolean): string {
  const endpoint = base === AWS_ENDPOINT && region !== undefined ? `https://s3.${region}.amazonaws.com` : base
  const trimmed = endpoint.replace(/\/$/, '')
  if (pathStyle || bucket.includes('.')) return `${trimmed}/${bucket}`
  return trimmed.replace('://', `://${bucket}.`)
}

/** As RFC 3986 has it, which is what S3 signs: everything but letters, digits and `-_.~`. */
export function encodeStrictly(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** A key as the path of a URL, without a leading slash. */
export function keyPath(key: string): string {
  return key.split('/').map(encodeStrictly).join('/')
}

/** The name of a bucket, as far as it matters: nothing that could change the URL around it. */
export function isBucketName(name: string): boolean {
  return /^[a-z0-9][a-z0-9._-]{1,253}[a-z0-9]$/i.test(name) && !name.includes('..')
}
