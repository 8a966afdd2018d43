/** Parses JSON that a data system answers, within a limit of values. */
import { hasTooManyValues, MAX_JSON_VALUES } from '../../base/json-size.ts'
import { LocalityError } from '../locality.ts'
import type { HttpResponse } from './transport.ts'

/**
 * Parses the JSON of a response of any content type. Throws `invalidResponse` without quoting the text. The number of values is limited too:
 * parsing 8 MiB of small ones would block admission for seconds.
 */
export function readJson({ what, text }: HttpResponse): unknown {
  if (hasTooManyValues(text)) {
    throw new LocalityError('invalidResponse', `${what}: the answer has more than ${MAX_JSON_VALUES} values`)
  }
  try {
    return JSON.parse(text)
  } catch {
    // The message of the parser quotes the text, perhaps with a credential.
    const kind = text.trim() === '' ? 'nothing' : text.trimStart().startsWith('<') ? 'HTML or XML' : 'something else'
    throw new LocalityError('invalidResponse', `${what}: the answer is ${kind}, not JSON`)
  }
}

/** Parses the JSON of a response, which may be an error page of a proxy. Returns undefined if it is not JSON or has too many values. */
export function tryJson({ text }: Pick<HttpResponse, 'text'>): unknown {
  if (hasTooManyValues(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    // The status describes the error.
    return undefined
  }
}
