/** Responds to what is not a complete HTTP request, since fastify never sees it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { JSON_TYPE, problemBody } from './problem.ts'

/** The error codes of Node and its HTTP parser whose status is not 400. */
const ANSWERS: Record<string, { status: number; reason: string; message: string }> = {
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    reason: 'Request Timeout',
    message: 'the request took too long to arrive',
  },
  HPE_HEADER_OVERFLOW: {
    status: 431,
    reason: 'Request Header Fields Too Large',
    message: 'the headers are too large',
  },
}

/** Responds to invalid HTTP, slow headers or bodies, and failed TLS handshakes, if the connection is writable. Then closes it. */
export function refuseConnection(
  error: NodeJS.ErrnoException,
  socket: Socket & { _httpMessage?: ServerResponse<IncomingMessage> },
): void {
  if (!socket.writable || socket._httpMessage?.headersSent) return void socket.destroy()
  const { status, reason, message } = ANSWERS[error.code ?? ''] ?? {
    status: 400,
    reason: 'Bad Request',
    message: `not an HTTP request: ${error.message}`,
  }
  const body = problemBody(status, message)
  const head = `HTTP/1.1 ${status} ${reason}\r\nContent-Type: ${JSON_TYPE}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n`
  // Destroyed after the response, so that a client that does not read it cannot keep the connection open.
  socket.end(head + body, () => socket.destroy())
}
