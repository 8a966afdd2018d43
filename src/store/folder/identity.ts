/** The uids and generated names of a folder store. They are the same in every run, so that outputs can be compared. */
import { createHash } from 'node:crypto'

/** The longest prefix of a generated name that an API server keeps. */
const MAX_PREFIX_LENGTH = 58

/** Returns a uid. `deletions` is the number of deleted objects with the same key: a new object with the key gets another uid. */
export function uidOf(key: string, deletions: number): string {
  const hex = sha256Hex(deletions === 0 ? key : `${key}#${deletions}`)
  return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  )
}

/** The `attempt`-th name for a `generateName`. */
export function generatedName(prefix: string, attempt: number): string {
  return prefix.slice(0, MAX_PREFIX_LENGTH) + sha256Hex(`${prefix}#${attempt}`).slice(0, 5)
}

function sha256Hex(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
