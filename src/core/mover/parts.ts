/** Divides an object into the parts that are fetched or sent by themselves. */

export interface Part {
  index: number
  /** Where it begins, and where it ends: the byte after the last. */
  start: number
  end: number
}

/** S3's own limit for uploads. */
const MAX_UPLOAD_PARTS = 10_000

export function partCount(size: number, partSize: number): number {
  return Math.max(1, Math.ceil(size / partSize))
}

/** The part of that index. */
export function partAt(index: number, size: number, partSize: number): Part {
  const start = index * partSize
  return { index, start, end: Math.min(start + partSize, size) }
}

/** The size of an upload's parts: the wanted one, or as large as it takes not to have more parts than S3 allows. */
export function uploadPartSize(size: number, wanted: number): number {
  return Math.max(wanted, Math.ceil(size / MAX_UPLOAD_PARTS))
}
