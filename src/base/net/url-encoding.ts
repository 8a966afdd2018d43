/** Prepares paths and the names of objects for URLs and signatures. */

/** Encodes all characters but letters, digits and `-_.~` (RFC 3986), as S3 requires for signatures. */
export function encodeStrictly(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** Writes the parameters of a query; empty without any. */
export function queryText(parameters: Iterable<readonly [name: string, value: string]>): string {
  return Array.from(parameters, ([name, value]) => `${encodeStrictly(name)}=${encodeStrictly(value)}`).join('&')
}

/** Encodes a key as the path of a URL, without a leading slash. */
export function keyPath(key: string): string {
  return key.split('/').map(encodeStrictly).join('/')
}

/** Decodes the escapes of a text; undefined if they form no valid text. */
export function decodeEscapes(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch (error) {
    if (!(error instanceof URIError)) throw error
    return undefined
  }
}

/**
 * Returns a path or URL without the slashes at its end. A pattern such as `/\/+$/` would try every slash of a long row of slashes as the begin
 * of the last one.
 */
export function withoutTrailingSlashes(text: string): string {
  let end = text.length
  while (text[end - 1] === '/') end--
  return text.slice(0, end)
}
