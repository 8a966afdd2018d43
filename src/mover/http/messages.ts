/** HTTP requests and responses of a mover, and the functions that receive the bodies of responses. */

export interface HttpRequest {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  origin: string
  /** The path with the query. */
  path: string
  headers: Record<string, string>
  body?: Uint8Array | string
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
