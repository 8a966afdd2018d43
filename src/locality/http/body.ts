/** Reads the bodies of responses, with limits for each and for all together, before and after decompression. */
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { LocalityError } from '../locality.ts'

/** The limit of one body. Responses about one table or bucket are far smaller. */
const MAX_BODY_BYTES = 8 * 1024 * 1024
/** The limit for all bodies of one system, so that many large responses at once cannot fill the memory. */
const MAX_BYTES_IN_FLIGHT = 32 * 1024 * 1024

const decompress = promisify(gunzip)

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
      try {
        const bytes = await collect(body, what, (length) => {
          taken += length
          bytesInFlight += length
        })
        return (await decode(bytes, encoding, what)).toString('utf8')
      } finally {
        bytesInFlight -= taken
      }
    },
  }
}

/** Decodes a body. The request accepts only gzip. An empty body, as of HEAD, has no encoding, whatever the headers say. */
async function decode(bytes: Buffer, encoding: string | undefined, what: string): Promise<Buffer> {
  const name = encoding?.trim().toLowerCase() ?? ''
  if (bytes.length === 0 || name === '' || name === 'identity') return bytes
  if (name !== 'gzip' && name !== 'x-gzip') {
    throw new LocalityError('invalidResponse', `${what}: the answer has an encoding other than gzip`)
  }
  try {
    return await decompress(bytes, { maxOutputLength: MAX_BODY_BYTES })
  } catch (cause) {
    // zlib errors have a code. Every error except the one for the size is about the content.
    if ((cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(what)
    throw new LocalityError('invalidResponse', `${what}: the answer is not valid gzip`, { cause })
  }
}

function tooLarge(what: string): LocalityError {
  return new LocalityError('invalidResponse', `${what}: the answer is larger than 8 MiB`)
}
