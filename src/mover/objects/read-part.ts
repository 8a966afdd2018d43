/** Reads a part of a file for an upload. */
import type { FileHandle } from 'node:fs/promises'

/** Reads the bytes from start to end; fewer if the file has become shorter. */
export async function readPart(file: FileHandle, start: number, end: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(end - start)
  let at = 0
  while (at < buffer.length) {
    const { bytesRead } = await file.read(buffer, at, buffer.length - at, start + at)
    // The file became shorter. The rest is not sent, and the file is checked again later.
    if (bytesRead === 0) break
    at += bytesRead
  }
  return buffer.subarray(0, at)
}
