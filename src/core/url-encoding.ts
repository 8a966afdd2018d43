/** Encodes the names of objects for URLs and signatures. */

/** Encodes all characters but letters, digits and `-_.~` (RFC 3986), as S3 requires for signatures. */
export function encodeStrictly(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** Encodes a key as the path of a URL, without a leading slash. */
export function keyPath(key: string): string {
  return key.split('/').map(encodeStrictly).join('/')
}
