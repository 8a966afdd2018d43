/** Divides an object into parts, each downloaded or uploaded separately. */

export interface Part {
  index: number
  /** The first byte, and the byte after the last. */
  start: number
  end: number
}

/** The limit of S3 (Amazon S3 multipart upload limits). */
const MAX_UPLOAD_PARTS = 10_000

export function partCount(size: number, partSize: number): number {
  return Math.max(1, Math.ceil(size / partSize))
}

export function partAt(index: number, size: number, partSize: number): Part {
  const start = index * partSize
  return { index, start, end: Math.min(start + partSize, size) }
}

/** Returns the part size of an upload: the wanted size, or a larger one if S3's limit of parts requires it. */
export function uploadPartSize(size: number, wanted: number): number {
  return Math.max(wanted, Math.ceil(size / MAX_UPLOAD_PARTS))
}
