/** Divides an object into parts, each downloaded or uploaded separately. */

export interface Part {
  index: number
  /** The first byte, and the byte after the last. */
  start: number
  end: number
}

/** The limit of S3 (Amazon S3 multipart upload limits). */
const MAX_UPLOAD_PARTS = 10_000

/** Returns the number of parts of an object, at least 1. Both sizes are in bytes. */
export function partCount(size: number, partSize: number): number {
  return Math.max(1, Math.ceil(size / partSize))
}

/** Returns the bytes of a part, counted from 0. Both sizes are in bytes. */
export function partAt(index: number, size: number, partSize: number): Part {
  const start = index * partSize
  return { index, start, end: Math.min(start + partSize, size) }
}

/** The most parts of a request. With parts of 8 MiB, longer requests save nothing measurable. */
const MAX_REQUEST_PARTS = 8

/**
 * Returns the parts of the next request: missing parts in a row. A request takes half of an equal share of what is missing. So requests get
 * shorter toward the end, and all connections end at about the same time.
 *
 * @param missing the missing parts in ascending order.
 * @param from the index in `missing` of the first part that no request has.
 * @param parallel the number of concurrent requests.
 */
export function partsOfRequest(missing: readonly Part[], from: number, parallel: number): Part[] {
  const share = Math.floor((missing.length - from) / (2 * parallel))
  const run = missing.slice(from, from + Math.max(1, Math.min(share, MAX_REQUEST_PARTS)))
  const gap = run.findIndex(({ start }, i) => i > 0 && start !== run[i - 1]?.end)
  return gap < 0 ? run : run.slice(0, gap)
}

/** Returns the part size of an upload: the wanted size, or a larger one if S3's limit of parts requires it. */
export function uploadPartSize(size: number, wanted: number): number {
  return Math.max(wanted, Math.ceil(size / MAX_UPLOAD_PARTS))
}
