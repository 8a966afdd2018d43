/** Reads standard input as text, with a limit. */
import { decodeText, refuseLarge } from '../../store/folder/read-text.ts'

const MAX_BYTES = 64 * 1024 * 1024

/** Throws `UnreadableFileError` if the input is too large or is not UTF-8. */
export async function readStandardInput(): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of process.stdin) {
    const part = Buffer.from(chunk)
    bytes += part.length
    refuseLarge(bytes, MAX_BYTES)
    chunks.push(part)
  }
  return decodeText(Buffer.concat(chunks))
}
