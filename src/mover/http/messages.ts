/** HTTP requests and responses of a mover, and the functions that receive the bodies of responses. */

/** A body that is read while it is sent, again for each attempt. */
export interface StreamedBody {
  bytes: number
  /** In hexadecimal, for the signature. */
  sha256: string
  chunks(): AsyncIterable<Uint8Array>
}

export type HttpBody = Uint8Array | string | StreamedBody

export function isStreamed(body: HttpBody): body is StreamedBody {
  return typeof body === 'object' && 'chunks' in body
}

/** The length of a body in bytes. */
export function bodyLength(body: HttpBody): number {
  return isStreamed(body) ? body.bytes : Buffer.byteLength(body)
}

export interface HttpRequest {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  origin: string
  /** The path with the query. */
  path: string
  headers: Record<string, string>
  body?: HttpBody
}

export interface ResponseHead {
  status: number
  /** Names in lower case; several values of one name are joined with commas. */
  headers: Record<string, string>
}

export interface HttpResponse extends Readonly<ResponseHead> {
  /** The body; of an error response its first 64 KiB. Empty when a sink received it. */
  text: string
}

/** Receives a chunk of a body. The chunk is a view of a buffer that is used again: the sink processes it before it returns. */
export type Sink = (chunk: Buffer) => void

/** Called with the head of a response: returns the sink for its body, or undefined to read the body as text. */
export type SinkFor = (head: Readonly<ResponseHead>) => Sink | undefined
