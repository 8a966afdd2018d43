/** Reads an HTTP/1.1 response (RFC 9112) from buffers that are filled again and again. It copies the head only. */
import type { ResponseHead } from './messages.ts'

/** The next part of a response; `at` is the position after it. The chunk of a body is a view of the buffer. */
export type Step =
  | { kind: 'more' }
  | { kind: 'head'; head: ResponseHead; at: number }
  | { kind: 'body'; chunk: Buffer; at: number }
  | { kind: 'end'; at: number }

/** The response is not valid HTTP/1.1. */
export class ProtocolError extends Error {
  override name = 'ProtocolError'
}

const MAX_HEAD_BYTES = 64 * 1024
/** The most informational (1xx) responses, and the most trailers. Servers send one or two. */
const MAX_INFORMATIONAL = 16
const MAX_TRAILERS = 64
const MORE: Step = { kind: 'more' }

/** Reads one response. */
export class ResponseReader {
  readonly #hasNoBody: boolean
  #state: 'head' | 'body' | 'until-close' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailer' | 'end' = 'head'
  /** The begin of a line or a head that continues in the next buffer. */
  #begun = ''
  /** The missing bytes of the body or of the chunk. */
  #left = 0
  #mayStayOpen = true
  #informational = 0
  #trailers = 0

  constructor(method: string) {
    this.#hasNoBody = method === 'HEAD' || method === 'CONNECT'
  }

  /** Whether the connection can be used for another request after this response. */
  get mayStayOpen(): boolean {
    return this.#mayStayOpen
  }

  /** Whether the response is complete when the server closes the connection now. */
  get mayEndHere(): boolean {
    return this.#state === 'until-close'
  }

  /** Reads `buffer` from `at` to its end. Throws a `ProtocolError`. */
  next(buffer: Buffer, at: number): Step {
    if (this.#state === 'end') return { kind: 'end', at }
    if (at >= buffer.length) return MORE
    switch (this.#state) {
      case 'head':
        return this.#readHead(buffer, at)
      case 'body':
      case 'chunk':
        return this.#readBody(buffer, at)
      case 'until-close':
        return { kind: 'body', chunk: buffer.subarray(at), at: buffer.length }
      default:
        return this.#readChunkLine(buffer, at)
    }
  }

  #readHead(buffer: Buffer, at: number): Step {
    const read = this.#readTo('\r\n\r\n', buffer, at)
    if (read === undefined) return MORE
    const head = parseHead(read.text)
    if (head.status < 200) {
      if (++this.#informational > MAX_INFORMATIONAL) throw new ProtocolError('too many informational responses')
      return this.next(buffer, read.at)
    }
    this.#begin(head)
    return { kind: 'head', head, at: read.at }
  }

  #begin({ status, headers }: ResponseHead): void {
    if (/\bclose\b/i.test(headers['connection'] ?? '')) this.#mayStayOpen = false
    const coding = headers['transfer-encoding']
    const length = headers['content-length']
    if (this.#hasNoBody || status === 204 || status === 304) {
      this.#state = 'end'
    } else if (coding !== undefined) {
      if (coding.toLowerCase() !== 'chunked') throw new ProtocolError(`unknown transfer-encoding ${coding}`)
      this.#state = 'chunk-size'
    } else if (length === undefined) {
      this.#state = 'until-close'
      this.#mayStayOpen = false
    } else {
      if (!/^\d{1,15}$/.test(length)) throw new ProtocolError(`invalid content-length ${length}`)
      this.#left = Number(length)
      this.#state = this.#left === 0 ? 'end' : 'body'
    }
  }

  #readBody(buffer: Buffer, at: number): Step {
    const to = Math.min(buffer.length, at + this.#left)
    this.#left -= to - at
    if (this.#left === 0) this.#state = this.#state === 'body' ? 'end' : 'chunk-end'
    return { kind: 'body', chunk: buffer.subarray(at, to), at: to }
  }

  #readChunkLine(buffer: Buffer, at: number): Step {
    const read = this.#readTo('\r\n', buffer, at)
    if (read === undefined) return MORE
    const { text } = read
    if (this.#state === 'chunk-end') {
      if (text !== '') throw new ProtocolError('a chunk is longer than its size')
      this.#state = 'chunk-size'
    } else if (this.#state === 'trailer') {
      if (text === '') this.#state = 'end'
      else if (++this.#trailers > MAX_TRAILERS) throw new ProtocolError(`more than ${MAX_TRAILERS} trailers`)
    } else {
      const [, size] = /^([0-9a-f]{1,12})\s*(?:;.*)?$/i.exec(text) ?? []
      if (size === undefined) throw new ProtocolError('a chunk has no size')
      this.#left = Number.parseInt(size, 16)
      this.#state = this.#left === 0 ? 'trailer' : 'chunk'
    }
    return this.next(buffer, read.at)
  }

  /** Returns the text up to a mark, which may have begun in an earlier buffer; undefined until the mark arrives. */
  #readTo(mark: string, buffer: Buffer, at: number): { text: string; at: number } | undefined {
    const before = this.#begun.length
    // Only the line is decoded: a body of many small chunks has many lines in one buffer.
    const next = buffer.indexOf(mark, at, 'latin1')
    const end = next < 0 ? buffer.length : next + mark.length
    const text = this.#begun + buffer.toString('latin1', at, Math.min(end, at + MAX_HEAD_BYTES))
    const found = text.indexOf(mark, Math.max(0, before - mark.length + 1))
    if (found >= 0) {
      this.#begun = ''
      return { text: text.slice(0, found), at: at + found + mark.length - before }
    }
    if (text.length >= MAX_HEAD_BYTES) throw new ProtocolError(`a head is longer than ${MAX_HEAD_BYTES} bytes`)
    this.#begun = text
    return undefined
  }
}

function parseHead(text: string): ResponseHead {
  const [statusLine = '', ...lines] = text.split('\r\n')
  const [, version, status] = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: |$)/.exec(statusLine) ?? []
  if (status === undefined) throw new ProtocolError('the response is not HTTP/1.1')
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const colon = line.indexOf(':')
    // A line that begins with a space would continue the line before; RFC 9112 forbids that.
    if (colon <= 0 || /^\s|\s$/.test(line.slice(0, colon))) throw new ProtocolError('invalid header')
    const name = line.slice(0, colon).toLowerCase()
    const value = line.slice(colon + 1).trim()
    const known = headers[name]
    if (known !== undefined && known !== value && name === 'content-length') throw new ProtocolError('two lengths')
    headers[name] = known === undefined || known === value ? value : `${known}, ${value}`
  }
  const keepsAlive = /keep-alive/i.test(headers['connection'] ?? '')
  if (version === '0' && !keepsAlive) headers['connection'] = 'close'
  return { status: Number(status), headers }
}
