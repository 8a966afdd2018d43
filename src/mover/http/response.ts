/** Reads HTTP/1.1 answers out of a buffer that is filled again and again: nothing of a body is copied or kept. */

export interface Head {
  status: number
  /** Names in small letters; of several of one name all values, with commas. */
  headers: Record<string, string>
}

/** What comes next in a buffer; `at` is where to go on. A body's piece is a view that the next read overwrites. */
export type Step =
  | { kind: 'more' }
  | { kind: 'head'; head: Head; at: number }
  | { kind: 'body'; piece: Buffer; at: number }
  | { kind: 'end'; at: number }

/** The answer is not HTTP as RFC 9112 has it. */
export class ProtocolError extends Error {
  override name = 'ProtocolError'
}

const MAX_HEAD_BYTES = 64 * 1024
/** Answers that only announce the answer, and lines behind the last chunk: servers send one or two. */
const MAX_INTERIM = 16
const MAX_TRAILERS = 64
const MORE: Step = { kind: 'more' }

/** Reads one answer. */
export class ResponseReader {
  readonly #isHead: boolean
  #state: 'head' | 'body' | 'until-close' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailer' | 'end' = 'head'
  /** Of a line or a head that one buffer did not hold. */
  #begun = ''
  /** Of the body, or of the chunk. */
  #left = 0
  #mayStayOpen = true
  #interim = 0
  #trailers = 0

  constructor(method: string) {
    this.#isHead = method === 'HEAD'
  }

  /** Whether the connection can be used for another request, once this answer has ended. */
  get mayStayOpen(): boolean {
    return this.#mayStayOpen
  }

  /** Whether the answer is complete when the connection closes now. */
  get mayCloseHere(): boolean {
    return this.#state === 'until-close'
  }

  /** Reads on in `buffer`, from `at` to `end`. Throws `ProtocolError`. */
  next(buffer: Buffer, at: number, end: number): Step {
    if (this.#state === 'end') return { kind: 'end', at }
    if (at >= end) return MORE
    switch (this.#state) {
      case 'head':
        return this.#readHead(buffer, at, end)
      case 'body':
      case 'chunk':
        return this.#readBody(buffer, at, end)
      case 'until-close':
        return { kind: 'body', piece: buffer.subarray(at, end), at: end }
      default:
        return this.#readChunkLine(buffer, at, end)
    }
  }

  #readHead(buffer: Buffer, at: number, end: number): Step {
    const read = this.#readTo('\r\n\r\n', buffer, at, end)
    if (read === undefined) return MORE
    const head = parseHead(read.text)
    // 100 and 103 only announce the answer.
    if (head.status < 200) {
      if (++this.#interim > MAX_INTERIM) throw new ProtocolError('the server announces its answer and does not give it')
      return this.next(buffer, read.at, end)
    }
    this.#begin(head)
    return { kind: 'head', head, at: read.at }
  }

  #begin({ status, headers }: Head): void {
    if (/\bclose\b/i.test(headers['connection'] ?? '')) this.#mayStayOpen = false
    const coding = headers['transfer-encoding']
    const length = headers['content-length']
    if (this.#isHead || status === 204 || status === 304) {
      this.#state = 'end'
    } else if (coding !== undefined) {
      if (coding.toLowerCase() !== 'chunked') throw new ProtocolError(`transfer-encoding ${coding} is not known`)
      this.#state = 'chunk-size'
    } else if (length === undefined) {
      this.#state = 'until-close'
      this.#mayStayOpen = false
    } else {
      if (!/^\d{1,15}$/.test(length)) throw new ProtocolError(`content-length ${length} is no number`)
      this.#left = Number(length)
      this.#state = this.#left === 0 ? 'end' : 'body'
    }
  }

  #readBody(buffer: Buffer, at: number, end: number): Step {
    const to = Math.min(end, at + this.#left)
    this.#left -= to - at
    if (this.#left === 0) this.#state = this.#state === 'body' ? 'end' : 'chunk-end'
    return { kind: 'body', piece: buffer.subarray(at, to), at: to }
  }

  #readChunkLine(buffer: Buffer, at: number, end: number): Step {
    const read = this.#readTo('\r\n', buffer, at, end)
    if (read === undefined) return MORE
    const { text } = read
    if (this.#state === 'chunk-end') {
      if (text !== '') throw new ProtocolError('a chunk is longer than it says')
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
    return this.next(buffer, read.at, end)
  }

  /** The text up to a mark, which may have begun in an earlier buffer; undefined until the mark comes. */
  #readTo(mark: string, buffer: Buffer, at: number, end: number): { text: string; at: number } | undefined {
    const limit = Math.min(end, at + MAX_HEAD_BYTES)
    if (this.#begun === '') {
      const length = buffer.subarray(at, limit).indexOf(mark)
      if (length >= 0) return { text: buffer.toString('latin1', at, at + length), at: at + length + mark.length }
    }
    const before = this.#begun.length
    const text = this.#begun + buffer.toString('latin1', at, limit)
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

function parseHead(text: string): Head {
  const [statusLine = '', ...lines] = text.split('\r\n')
  const [, status] = /^HTTP\/1\.[01] ([1-5]\d\d)(?: |$)/.exec(statusLine) ?? []
  if (status === undefined) throw new ProtocolError('the answer is not HTTP/1.1')
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const colon = line.indexOf(':')
    // A line that begins with a blank would go on with the one before; nobody may send that.
    if (colon <= 0 || /^\s|\s$/.test(line.slice(0, colon))) throw new ProtocolError('a header is no header')
    const name = line.slice(0, colon).toLowerCase()
    const value = line.slice(colon + 1).trim()
    const known = headers[name]
    if (known !== undefined && known !== value && name === 'content-length') throw new ProtocolError('two lengths')
    headers[name] = known === undefined || known === value ? value : `${known}, ${value}`
  }
  // HTTP/1.0 closes, unless it says otherwise.
  if (statusLine.startsWith('HTTP/1.0') && !/keep-alive/i.test(headers['connection'] ?? ''))
    headers['connection'] = 'close'
  return { status: Number(status), headers }
}
