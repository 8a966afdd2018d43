/** Parses a page of Azure's List Blobs. */
import { md5FromBase64 } from '../../base/checksum.ts'
import { defined } from '../../base/json.ts'
import { decodeEscapes } from '../../base/net/url-encoding.ts'
import { type ListedObject, type ListingPage, readListed } from '../../base/objects.ts'
import { elementsOf, elementText } from '../../base/xml.ts'

/** In characters. Markers are opaque, contain the name of a blob, and become part of the URL of the next request. */
const MAX_MARKER_LENGTH = 8192

/**
 * Parses a page. The time grows with the length of the page only. It leaves out the directories of a hierarchical namespace, which are
 * empty blobs with the metadata `hdi_isfolder`.
 *
 * @returns undefined if the text is no page, or if a blob has no name, no size or an invalid ETag
 * https://learn.microsoft.com/en-us/rest/api/storageservices/list-blobs
 */
export function parseBlobListing(xml: string): ListingPage | undefined {
  const isPage = /^\s*(?:<\?xml[^>]*\?>\s*)?<EnumerationResults[\s>]/.test(xml)
  if (!isPage || !xml.trimEnd().endsWith('</EnumerationResults>')) return undefined
  const objects: ListedObject[] = []
  for (const inner of elementsOf(xml, 'Blob')) {
    const properties = section(inner, 'Properties')
    const object = readBlob(inner, properties)
    if (object === undefined) return undefined
    if (object.size > 0 || !isDirectory(inner, properties)) objects.push(object)
  }
  const tail = xml.slice(xml.lastIndexOf('<NextMarker'))
  if (/^<NextMarker\s*\/>/.test(tail)) return { objects }
  const next = elementText(tail, 'NextMarker')
  if (next === '') return { objects }
  return next && next.length <= MAX_MARKER_LENGTH && next.isWellFormed() ? { objects, next } : undefined
}

/** Properties and metadata may have elements of the same name, so each is read in its own section. */
function section(xml: string, name: string): string {
  const from = xml.indexOf(`<${name}>`)
  const to = xml.indexOf(`</${name}>`, from)
  return from < 0 || to < 0 ? '' : xml.slice(from, to)
}

function isDirectory(xml: string, properties: string): boolean {
  const isFolder = /<hdi_isfolder>\s*true\s*<\/hdi_isfolder>/i
  return elementText(properties, 'ResourceType') === 'directory' || isFolder.test(section(xml, 'Metadata'))
}

function readBlob(xml: string, properties: string): ListedObject | undefined {
  const [size, etag] = [elementText(properties, 'Content-Length'), elementText(properties, 'Etag')]
  const listed = readListed(blobName(xml), size, etag)
  return listed && defined({ ...listed, md5: md5FromBase64(elementText(properties, 'Content-MD5')) })
}

const ENCODED = '<Name Encoded="true">'

/** The name of a blob. Since version 2021-02-12, names with characters that XML does not allow are percent-encoded. */
function blobName(xml: string): string | undefined {
  if (!xml.trimStart().startsWith(ENCODED)) return elementText(xml, 'Name')
  return decodeEscapes(elementText(xml.replace(ENCODED, '<Name>'), 'Name') ?? '')
}
