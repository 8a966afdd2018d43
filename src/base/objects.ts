/** What every protocol of the mover describes: the place of data, its objects, and the pages of their listing. */
import { parseSize } from './quantity.ts'

/** The place of data on a server: one object, or all objects below a prefix. */
export interface ObjectPlace {
  /** The URL of the data, for messages and for the record of a download. It has no credentials. */
  url: string
  /** The bucket of S3, or the container of Azure. */
  container: string
  /** The text before the key in the path that globs match. */
  globRoot: string
  /** A key, or a prefix: empty, or with a slash at the end. */
  key: string
  /** Whether it is a prefix, and not one object. */
  recursive: boolean
}

export interface ListedObject {
  key: string
  size: number
  /** Without quotes; empty if the server returns none. */
  etag: string
  /** In hexadecimal, if the listing has it. */
  md5?: string
}

/** Reads an object of a page; undefined without a key or a size, and for an ETag that no header can have. */
export function readListed(
  key: string | undefined,
  sizeText: string | undefined,
  etagText = '',
): ListedObject | undefined {
  const size = parseSize(sizeText)
  const etag = etagText.replace(/^"|"$/g, '')
  return key && size !== undefined && /^[\x20-\x7e]*$/.test(etag) ? { key, size, etag } : undefined
}

export interface ListingPage {
  objects: ListedObject[]
  /** The continuation token of the next page; absent for the last page. */
  next?: string
}
