/** Parses a page of S3's ListObjectsV2. */
import { decodeEscapes, withoutTrailingSlashes } from '../base/net/url-encoding.ts'
import { type ListedObject, type ListingPage, readListed } from '../base/objects.ts'
import { elementsOf, elementText } from '../base/xml.ts'

/** In characters. Tokens are opaque, and become part of the URL of the next request. */
const MAX_TOKEN_LENGTH = 4096

/**
 * Parses a page. The time grows with the length of the page only. Keys are escaped in it, so the name of an object cannot look like markup.
 * @returns undefined if the text is no page, or if an object has no key, no size, or an ETag that is invalid in a header. Also undefined
 *   for a truncated page without a token. A store that does not support version 2 of the request returns one, and it is not the whole
 *   listing.
 */
export function parseListing(xml: string): ListingPage | undefined {
  if (!/^\s*(?:<\?xml[^>]*\?>\s*)?<ListBucketResult[\s>]/.test(xml) || !xml.trimEnd().endsWith('</ListBucketResult>')) {
    return undefined
  }
  // Keys are encoded only if the request asked for it and the store supports it.
  const encoded = elementText(xml, 'EncodingType') === 'url'
  const objects: ListedObject[] = []
  for (const inner of elementsOf(xml, 'Contents')) {
    const object = readObject(inner, encoded)
    if (object === undefined) return undefined
    objects.push(object)
  }
  const truncated = elementText(xml, 'IsTruncated')?.trim().toLowerCase()
  const next = elementText(xml, 'NextContinuationToken')
  // A page that does not say whether it is the last one has a token if more pages follow.
  if (truncated === 'false' || (!truncated && !next)) return { objects }
  return next && next.length <= MAX_TOKEN_LENGTH && next.isWellFormed() ? { objects, next } : undefined
}

/**
 * Whether a page is about a prefix. Servers repeat the prefix of the request, perhaps encoded, or without the slash at its end. A gateway that
 * decodes the request twice asks for another one.
 */
export function listsPrefix(xml: string, prefix: string): boolean {
  const listed = elementText(xml, 'Prefix') ?? ''
  const wanted = withoutTrailingSlashes(prefix)
  return listed === '' || [listed, decodeKey(listed)].some((one) => one && withoutTrailingSlashes(one) === wanted)
}

function readObject(xml: string, encoded: boolean): ListedObject | undefined {
  const text = elementText(xml, 'Key') ?? ''
  return readListed(encoded ? decodeKey(text) : text, elementText(xml, 'Size'), elementText(xml, 'ETag'))
}

function decodeKey(key: string): string | undefined {
  return decodeEscapes(key.replaceAll('+', ' '))
}
