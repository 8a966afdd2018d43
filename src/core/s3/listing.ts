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

/** Tokens are opaque, and go into the URL of the next request. */
const MAX_TOKEN_LENGTH = 4096

/**
 * Reads a page, in a time that grows with its length only. Keys are escaped in it, so no object can look like markup.
 *
 * @returns undefined when the text is something else, or when an object has no key, no size or an ETag that is no header. Also undefined
 * when there is more and the page does not say where. A store that does not know the second version of the request answers so, and its
 * first page must not count as all.
 */
export function parseListing(xml: string): ListingPage | undefined {
  if (!/^\s*(?:<\?xml[^>]*\?>\s*)?<ListBucketResult[\s>]/.test(xml) || !xml.trimEnd().endsWith('</ListBucketResult>')) {
    return undefined
  }
  // Only a store that was asked for it, and knows it, encodes keys.
  const encoded = textOf(xml, 'EncodingType') === 'url'
  const objects: ListedObject[] = []
  for (const inner of contentsOf(xml)) {
    const object = readObject(inner, encoded)
    if (object === undefined) return undefined
    objects.push(object)
  }
  if (!xml.includes('<IsTruncated>true</IsTruncated>')) return { objects }
  const next = textOf(xml, 'NextContinuationToken')
  return next && next.length <= MAX_TOKEN_LENGTH && next.isWellFormed() ? { objects, next } : undefined
}

const [BEGIN, END] = ['<Contents>', '</Contents>']

function* contentsOf(xml: string): Generator<string> {
  for (let from = xml.indexOf(BEGIN); from >= 0; from = xml.indexOf(BEGIN, from)) {
    const to = xml.indexOf(END, from)
    if (to < 0) return
    yield xml.slice(from + BEGIN.length, to)
    from = to
  }
}

const SIZE = /^\d{1,16}$/

function readObject(xml: string, encoded: boolean): ListedObject | undefined {
  const text = textOf(xml, 'Key') ?? ''
  const key = encoded ? decodeKey(text) : text
  const size = textOf(xml, 'Size') ?? ''
  const etag = (textOf(xml, 'ETag') ?? '').replace(/^"|"$/g, '')
  // It is sent back in a header, which a line break would end.
  if (!key || !SIZE.test(size) || !isCount(Number(size)) || !/^[\x20-\x7e]*$/.test(etag)) return undefined
  return { key, size: Number(size), etag }
}

function decodeKey(key: string): string | undefined {
  try {
    return decodeURIComponent(key.replaceAll('+', ' '))
  } catch {
    // No sequence of escapes that makes a text.
    return undefined
  }
}
