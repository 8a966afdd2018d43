/** Writes of an expected object: they fail when the object of the key is another one, and keep its attributes. */
import { NotImplementedError } from '../http/server-error.ts'
import type { ExpectedObject } from './object-store.ts'

/** The headers of a write that expects an object, or none (RFC 9110, section 13.1). An object without an ETag has no condition. */
function preconditionHeaders(expected: ExpectedObject): Record<string, string> {
  if (expected === 'absent') return { 'if-none-match': '*' }
  return expected.etag === '' ? {} : { 'if-match': `"${expected.etag}"` }
}

/**
 * Sends a write with its condition. A server without conditional writes answers 501; then the write is sent without the condition. The
 * caller checks the object just before, which also covers servers that ignore the headers.
 */
export async function sendConditionally<Request extends { headers?: Record<string, string> }, Response>(
  send: (request: Request) => Promise<Response>,
  request: Request,
  expected: ExpectedObject,
): Promise<Response> {
  try {
    return await send({ ...request, headers: { ...request.headers, ...preconditionHeaders(expected) } })
  } catch (error) {
    if (!(error instanceof NotImplementedError)) throw error
    return send(request)
  }
}

/** The attributes of an object in its response headers, by the header that sets each in a write. */
export interface KeptHeaders {
  /** The names of the headers in a write, by those in a response. */
  names: Readonly<Record<string, string>>
  /** The prefix of metadata. */
  metadata: string
}

/** The headers of a write that keep the attributes of the expected object. Values that no header of a request can have are left out. */
export function keptHeaders(expected: ExpectedObject, { names, metadata }: KeptHeaders): Record<string, string> {
  if (expected === 'absent') return {}
  return Object.fromEntries(
    Object.entries(expected.headers).flatMap(([name, value]) => {
      const kept = name.startsWith(metadata) ? name : Object.hasOwn(names, name) ? names[name] : undefined
      return kept !== undefined && value !== undefined && /^[\x20-\x7e]+$/.test(value) ? [[kept, value]] : []
    }),
  )
}
