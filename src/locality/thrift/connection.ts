/** A connection to a Thrift server: one call at a time, each reply within the limits of the protocol. The caller limits the time. */
import { connect, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import { defined } from '../../base/json.ts'
import { serverName } from '../../base/net/server-name.ts'
import { LocalityError } from '../locality.ts'
import { ByteQueue } from './byte-queue.ts'
import type { Decoding } from './decode.ts'
import { encodeCall, int32, type ThriftFields } from './encode.ts'
import { MAX_MESSAGE_BYTES, ThriftProtocolError } from './protocol.ts'
import { type Reply, readReply } from './reply.ts'

/** A Thrift server closes connections that it does not understand. */
const CLOSED =
  'the server closed the connection; endpoint.tls, endpoint.auth and extra.framed must be as the server expects them'

export interface ThriftTarget {
  host: string
  port: number
  /** The options of TLS; undefined for a plain connection. */
  tls?: ConnectionOptions
}

export class ThriftConnection {
  readonly #socket: Socket
  readonly #chunks: AsyncIterator<Buffer>
  readonly #input = new ByteQueue()
  #frames: FrameReader | undefined
  #sequence = 0
  #received = 0

  /** Connects. The first write waits for the connection. */
  constructor({ host, port, tls }: ThriftTarget) {
    // A host name is checked against the certificate.
    const servername = defined({ servername: serverName(host) })
    this.#socket = tls === undefined ? connect({ host, port }) : connectTls({ ...tls, ...servername, host, port })
    // Reads report errors. Without a listener, an error before the first read would end the process.
    this.#socket.on('error', () => undefined)
    this.#chunks = this.#socket[Symbol.asyncIterator]()
  }

  /** From now on, each message of both sides is in a frame. */
  useFrames(): void {
    this.#frames = new FrameReader()
  }

  /** Calls a method. Throws `ThriftProtocolError` for an invalid reply, `LocalityError` for a closed connection, or a socket's error. */
  async call<T>(
    method: string,
    fields: ThriftFields,
    readResult: (input: ByteQueue) => Decoding<T>,
  ): Promise<Reply<T>> {
    this.#sequence++
    const message = encodeCall(method, this.#sequence, fields)
    this.write(this.#frames === undefined ? message : Buffer.concat([int32(message.length), message]))
    return this.read((input) => readReply(input, method, this.#sequence, readResult))
  }

  /** Sends bytes that are not a message. */
  write(bytes: Buffer): void {
    this.#socket.write(bytes)
  }

  /** Decodes what the server sends, with a limit of bytes. */
  async read<T>(decode: (input: ByteQueue) => Decoding<T>): Promise<T> {
    const decoding = decode(this.#input)
    this.#received = 0
    for (let step = decoding.next(); ; step = decoding.next()) {
      if (step.done === true) return step.value
      await this.#receive()
    }
  }

  /** Closes the connection. Pending and later calls fail. */
  destroy(): void {
    this.#socket.destroy()
  }

  async #receive(): Promise<void> {
    const { done, value } = await this.#chunks.next()
    if (done === true) throw new LocalityError('unreachable', CLOSED)
    this.#received += value.length
    if (this.#received > MAX_MESSAGE_BYTES) throw new ThriftProtocolError('the answer is larger than 8 MiB')
    for (const part of this.#frames?.unframe(value) ?? [value]) this.#input.push(part)
  }
}

const LENGTH_BYTES = 4

/** Removes the length before each frame of a connection, with a limit for the length. */
export class FrameReader {
  #length = 0
  #lengthBytes = 0
  #left = 0

  /** Returns the content of the frames in a chunk. Throws `ThriftProtocolError` for a length that no frame has. */
  unframe(chunk: Buffer): Buffer[] {
    const content: Buffer[] = []
    for (let at = 0; at < chunk.length; ) {
      if (this.#left > 0) {
        const part = chunk.subarray(at, at + this.#left)
        content.push(part)
        this.#left -= part.length
        at += part.length
      } else {
        this.#readLength(chunk[at] ?? 0)
        at++
      }
    }
    return content
  }

  #readLength(byte: number): void {
    this.#length = (this.#length << 8) | byte
    this.#lengthBytes++
    if (this.#lengthBytes < LENGTH_BYTES) return
    if (this.#length <= 0 || this.#length > MAX_MESSAGE_BYTES) {
      throw new ThriftProtocolError('the length of a frame is not between 1 byte and 8 MiB')
    }
    this.#left = this.#length
    this.#length = 0
    this.#lengthBytes = 0
  }
}
