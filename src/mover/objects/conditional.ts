/** Conditional writes: they fail when the object of the key is not the expected one. */
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
