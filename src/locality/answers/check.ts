/** Checks queries to data systems and their answers: each query must be sendable, and each answer storable. */
import { defined, isCount } from '../../base/json.ts'
import type { LocatedAnswer } from '../locality.ts'
import { withoutCredentials } from './location.ts'

/** The limit in the schema of DataSources. */
const MAX_LOCATION_LENGTH = 4096
const MAX_ETAG_LENGTH = 1024

/** Control characters and halves of surrogate pairs: they are invalid in URLs, and the API server would replace them. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}]/u
/** An ETag that may be sent back in a header (RFC 9110, 8.8.3). */
const ETAG = /^(?:W\/)?"?[\x21\x23-\x7e]*"?$/

/** Whether a text has only printable characters. */
export function isPrintable(text: string): boolean {
  return !UNPRINTABLE.test(text)
}

/** Removes credentials in the location and an unusable size or ETag from an answer; returns undefined if its location cannot be stored. */
export function checkLocated(answer: LocatedAnswer): LocatedAnswer | undefined {
  const { bytes, bytesAreMinimum, etag, ...rest } = answer
  const location = withoutCredentials(answer.location)
  if (location === '' || location.length > MAX_LOCATION_LENGTH || !isPrintable(location)) return undefined
  const size = isCount(bytes) ? defined({ bytes, bytesAreMinimum: bytesAreMinimum === true || undefined }) : {}
  const isStorable = etag !== undefined && etag.length <= MAX_ETAG_LENGTH && ETAG.test(etag)
  return { ...rest, location, ...size, ...defined({ etag: isStorable ? etag : undefined }) }
}
