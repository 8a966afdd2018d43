/** Reads text files with a limit. */
import { readFile } from 'node:fs/promises'
import { isGone } from './scan.ts'

const MAX_FILE_BYTES = 8 * 1024 * 1024

/** A file that exists and cannot be used; the message says why. */
export class UnreadableFileError extends Error {
  override name = 'UnreadableFileError'
}

/** Reads a text file. Throws `UnreadableFileError`, and the error of the system for a file that does not exist. */
export async function readTextFile({ file, bytes }: { file: string; bytes: number }): Promise<string> {
  refuseLarge(bytes, MAX_FILE_BYTES)
  try {
    return decodeText(await readFile(file))
  } catch (error) {
    if (error instanceof UnreadableFileError || isGone(error)) throw error
    throw new UnreadableFileError(`cannot be read: ${(error as Error).message}`, { cause: error })
  }
}

/** Throws `UnreadableFileError` beyond the limit. */
export function refuseLarge(bytes: number, limit: number): void {
  if (bytes > limit) throw new UnreadableFileError(`is larger than ${limit / 1024 / 1024} MiB, and was not read`)
}

/** Decodes UTF-8. Throws `UnreadableFileError` for other bytes. */
export function decodeText(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    throw new UnreadableFileError('is not UTF-8 text', { cause: error })
  }
}
