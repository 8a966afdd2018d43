/** Reads standard input and pipes as text, with a limit. Both may stay open, so a signal ends the read. */
import { constants, openSync } from 'node:fs'
import { Socket } from 'node:net'
import { addAbortSignal, type Readable } from 'node:stream'
import { decodeText, refuseLarge, UnreadableFileError } from '../../../store/folder/read-text.ts'

const MAX_BYTES = 64 * 1024 * 1024

/** Throws `UnreadableFileError` if the input is too large or is not UTF-8. */
export function readStandardInput(signal: AbortSignal): Promise<string> {
  return readStream(process.stdin, signal)
}

/**
 * Reads a named pipe, or the pipe of `<(command)` in a shell. Throws `UnreadableFileError` as above, and if it cannot be opened.
 *
 * A pipe without a writer blocks an open, and a process cannot end during a blocking call.
 */
export async function readPipe(path: string, signal: AbortSignal): Promise<string> {
  return readStream(new Socket({ fd: openPipe(path), readable: true, writable: false }), signal)
}

/** The socket closes it. */
function openPipe(path: string): number {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    throw new UnreadableFileError(`cannot be read: ${(error as Error).message}`, { cause: error })
  }
}

async function readStream(stream: Readable, signal: AbortSignal): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of addAbortSignal(signal, stream)) {
    const part = Buffer.from(chunk)
    bytes += part.length
    refuseLarge(bytes, MAX_BYTES)
    chunks.push(part)
  }
  return decodeText(Buffer.concat(chunks))
}
