/** Reads a page of S3's ListObjectsV2. A page is flat XML of one known shape, so that no XML parser is needed. */

export interface ListingPage {
  bytes: number
  objects: number
  /** Where the next page begins; absent on the last. */
  next?: string
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' }

/** Reads a page; undefined when the text is something else. Keys are escaped in it, so no object can look like markup. */
export function parseListing(xml: string): ListingPage | undefined {
  if (
    !/^(?:\uFEFF)?\s*(?:<\?xml[^>]*\?>\s*)?<ListBucketResult[\s>]/.test(xml) ||
    !/<\/ListBucketResult>\s*$/.test(xml)
  ) {
    return undefined
  }
  let bytes = 0
  let objects = 0
  for (const [, size] of xml.matchAll(/<Size>(\d+)<\/Size>/g)) {
    bytes += Number(size)
    objects += 1
  }
  const token = /<NextContinuationToken>([^<]+)<\/NextContinuationToken>/.exec(xml)?.[1]
  const truncated = /<IsTruncated>true<\/IsTruncated>/.test(xml)
  return truncated && token !== undefined ? { bytes, objects, next: unescapeXml(token) } : { bytes, objects }
}

function unescapeXml(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]+)|#(\d+)|([a-z]+));/gi, (whole, hex, decimal, name) => {
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16))
    if (decimal !== undefined) return String.fromCodePoint(Number(decimal))
    return ENTITIES[name] ?? whole
  })
}
