/** Checks what goes to a data system and what comes from it, so that every answer can be stored and every query be sent. */
import { isCount } from '../json.ts'

/** As the schema of DataSources has it. */
const MAX_LOCATION_LENGTH = 4096
const MAX_ETAG_LENGTH = 1024

/** Control characters and halves of characters: no URL holds them, and the API server would store something else. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}]/u
/** The form that may be sent back in a header (RFC 9110, 8.8.3). */
const ETAG = /^(?:W\/)?"?[\x21\x23-\x7e]*"?$/

/** Whether a text has nothing but printable characters. */
export function isPrintable(text: string): boolean {
  return !UNPRINTABLE.test(text)
}

interface LocatedFacts {
  location: string
  bytes?: number
  etag?: string
}

/** A location with the size and the version that can be used; undefined when the location itself cannot be stored. */
export function checkLocated<T extends LocatedFacts>(answer: T): T | undefined {
  const { bytes, etag, ...rest } = answer
  const { location } = answer
  if (location === '' || location.length > MAX_LOCATION_LENGTH || !isPrintable(location)) return undefined
  return {
    ...rest,
    ...(isCount(bytes) && { bytes }),
    ...(etag !== undefined && etag.length <= MAX_ETAG_LENGTH && ETAG.test(etag) && { etag }),
  } as T
}
