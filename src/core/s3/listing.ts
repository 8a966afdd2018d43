/** Reads a page of S3's ListObjectsV2. */
import { isCount } from '../json.ts'
import { textOf } from './xml.ts'

export interface ListedObject {
  key: string
  size: number
  /** Without its quotes; empty where a store has none. */
  etag: string
}

export interface ListingPage {
  objects: ListedObject[]
  /** Where the next page begins; absent on the last. */
  next?: string
}

/**
 * Reads a page. Keys are escaped in it, so no object can look like markup.
 *
 * @returns undefined when the text is something else, when the size of an object is no number, or when there is more and it does not say
 * where: a store that does not know the second version of the request says so, and its first page must not pass for all
 */
export function parseListing(xml: string): ListingPage | undefined {
  if (
    !/^(?:\uFEFF)?\s*(?:<\?xml[^>]*\?>\s*)?<ListBucketResult[\s>]/.test(xml) ||
    !/<\/ListBucketResult>\s*$/.test(xml)
  ) {
    return undefined
  }
  // Only a store that was asked for it, and knows it, encodes keys.
  const encoded = textOf(xml, 'EncodingType') === 'url'
  const objects = [...xml.matchAll(/<Contents>([\s\S]*?)<\/Contents>/g)].map(([, inner = '']) =>
    readObject(inner, encoded),
  )
  const token = textOf(xml, 'NextContinuationToken')
  const truncated = /<IsTruncated>true<\/IsTruncated>/.test(xml)
  if ((truncated && !token) || !objects.every(({ size }) => isCount(size))) return undefined
  return truncated && token ? { objects, next: token } : { objects }
}

function readObject(xml: string, encoded: boolean): ListedObject {
  const key = textOf(xml, 'Key') ?? ''
  return {
    key: encoded ? decodeKey(key) : key,
    size: Number(textOf(xml, 'Size') ?? 0),
    etag: (textOf(xml, 'ETag') ?? '').replace(/^"|"$/g, ''),
  }
}

function decodeKey(key: string): string {
  return decodeURIComponent(key.replaceAll('+', ' '))
}
