/** Reads the bodies of responses, with limits for each and for all together, before and after decompression. */
import { createGunzip } from 'node:zlib'
import { untilAborted } from '../../base/time/clock.ts'
import { LocalityError } from '../locality.ts'

/** The limit of one body. Responses about one table or bucket are far smaller. */
const MAX_BODY_BYTES = 8 * 1024 * 1024
/**
 * With more bytes of all bodies of one system, the large ones are read one after the other. So many large responses at once neither fill the
 * memory nor fail. One of them needs as much again, since it is in memory before and after decompression.
 */
const SHARED_BYTES = 16 * 1024 * 1024
/** A body up to this size never waits, such as a token for which other requests wait. */
const SMALL_BYTES = 64 * 1024

export interface BodyReader {
  /**
   * Returns the text of a body. Throws a `LocalityError` above the limit, and for an unsupported encoding; the reason of the signal if it aborts
   * while the body waits for others.
   */
  read(
    body: AsyncIterable<Uint8Array>,
    encoding: string | undefined,
    what: string,
    signal: AbortSignal,
  ): Promise<string>
}

export function openBodyReader(): BodyReader {
  const memory = new BodyMemory()
  return {
    async read(body, encoding, what, signal) {
      const share = memory.open(signal)
      try {
        const bytes = await collect(body, what, share)
        // A few bytes of gzip may become many.
        const plain = isGzip(bytes, encoding, what) ? collect(gunzip(bytes, what), what, share) : bytes
        // Unlike toString, it removes a byte order mark, which JSON may ignore (RFC 8259, 8.1).
        return new TextDecoder().decode(await plain)
      } finally {
        share.close()
      }
    },
  }
}

async function collect(body: AsyncIterable<Uint8Array>, what: string, share: BodyShare): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > MAX_BODY_BYTES) throw tooLarge(what)
    chunks.push(chunk)
    await share.take(chunk.length)
  }
  return Buffer.concat(chunks)
}

/** The part of one body in the memory of all. */
interface BodyShare {
  /** Counts bytes. Resolves when the body may be read on. */
  take(bytes: number): Promise<void> | undefined
  close(): void
}

/** The memory for the bodies of one system. A body that waits is not read, so its server waits too. */
class BodyMemory {
  #bytes = 0
  /** The large bodies, the oldest first: it never waits, so each has its turn. */
  readonly #large = new Set<BodyShare>()
  readonly #waiting = new Set<() => void>()

  /** @param signal ends the wait of this body */
  open(signal: AbortSignal): BodyShare {
    let own = 0
    const share: BodyShare = {
      take: (bytes) => {
        own += bytes
        this.#bytes += bytes
        if (own > SMALL_BYTES) this.#large.add(share)
        return this.#mayRead(share) ? undefined : this.#turn(share, signal)
      },
      close: () => {
        this.#bytes -= own
        own = 0
        this.#large.delete(share)
        for (const look of this.#waiting) look()
      },
    }
    return share
  }

  #mayRead(share: BodyShare): boolean {
    const [oldest] = this.#large
    return this.#bytes <= SHARED_BYTES || oldest === share || !this.#large.has(share)
  }

  async #turn(share: BodyShare, signal: AbortSignal): Promise<void> {
    const turn = Promise.withResolvers<void>()
    const look = () => void (this.#mayRead(share) && turn.resolve())
    this.#waiting.add(look)
    try {
      await untilAborted(turn.promise, signal)
    } finally {
      this.#waiting.delete(look)
    }
  }
}

/** Whether a body is gzip, the only encoding that the request accepts. An empty body, as of HEAD, has none, whatever the headers say. */
function isGzip({ length }: Buffer, encoding: string | undefined, what: string): boolean {
  const name = encoding?.trim().toLowerCase() ?? ''
  if (length === 0 || name === '' || name === 'identity') return false
  if (name === 'gzip' || name === 'x-gzip') return true
  throw new LocalityError('invalidResponse', `${what}: the answer has an encoding other than gzip`)
}

/** Decompresses a body in pieces. */
async function* gunzip(bytes: Buffer, what: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createGunzip().end(bytes)
  } catch (cause) {
    // Every error of zlib is about the content.
    throw new LocalityError('invalidResponse', `${what}: the answer is not valid gzip`, { cause })
  }
}

function tooLarge(what: string): LocalityError {
  return new LocalityError('invalidResponse', `${what}: the answer is larger than 8 MiB`)
}
