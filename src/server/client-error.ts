/** Answers invalid HTTP, slow headers or bodies, and failed TLS handshakes. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { JSON_TYPE, problemBody } from './problem.ts'

/** Error codes of Node and its HTTP parser with an answer other than 400. */
const answers: Record<string, { status: number; reason: string; message: string }> = {
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

/** Sends an answer if the connection is writable, and ends the connection. */
export function refuseConnection(
  error: NodeJS.ErrnoException,
  socket: Socket & { _httpMessage?: ServerResponse<IncomingMessage> },
): void {
  if (!socket.writable || socket._httpMessage?.headersSent) return void socket.destroy()
  const { status, reason, message } = answers[error.code ?? ''] ?? {
    status: 400,
    reason: 'Bad Request',
    message: `not an HTTP request: ${error.message}`,
  }
  const body = problemBody(status, message)
  const head = `HTTP/1.1 ${status} ${reason}\r\nContent-Type: ${JSON_TYPE}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n`
  // A client that does not read the answer cannot keep the connection open.
  socket.end(head + body, () => socket.destroy())
}
