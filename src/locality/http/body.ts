/** Reads the bodies of responses, with limits for each and for all together, before and after decompression. */
import { createGunzip } from 'node:zlib'
import { LocalityError } from '../locality.ts'

/** The limit of one body. Responses about one table or bucket are far smaller. */
const MAX_BODY_BYTES = 8 * 1024 * 1024
/** The limit for all bodies of one system, so that many large responses at once cannot fill the memory. */
const MAX_BYTES_IN_FLIGHT = 32 * 1024 * 1024

export interface BodyReader {
  /** Returns the text of a body. Throws a `LocalityError` above a limit, and for an unsupported encoding. */
  read(body: AsyncIterable<Uint8Array>, encoding: string | undefined, what: string): Promise<string>
}

export function openBodyReader(): BodyReader {
  let bytesInFlight = 0

  async function collect(
    body: AsyncIterable<Uint8Array>,
    what: string,
    took: (bytes: number) => void,
  ): Promise<Buffer> {
    const chunks: Uint8Array[] = []
    let bytes = 0
    for await (const chunk of body) {
      took(chunk.length)
      bytes += chunk.length
      if (bytes > MAX_BODY_BYTES) throw tooLarge(what)
      if (bytesInFlight > MAX_BYTES_IN_FLIGHT) {
        throw new LocalityError('unavailable', `${what}: the responses of this system in flight are larger than 32 MiB`)
      }
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  }

  return {
    async read(body, encoding, what) {
      let taken = 0
      const take = (length: number) => {
        taken += length
        bytesInFlight += length
      }
      try {
        const bytes = await collect(body, what, take)
        // A few bytes of gzip may become many.
        const plain = isGzip(bytes, encoding, what) ? collect(gunzip(bytes, what), what, take) : bytes
        // Unlike toString, it removes a byte order mark, which JSON may ignore (RFC 8259, 8.1).
        return new TextDecoder().decode(await plain)
      } finally {
        bytesInFlight -= taken
      }
    },
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
