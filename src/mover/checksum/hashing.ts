/** Computes the checksums that S3 servers use. */
import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import type { ChecksumAlgorithm } from '../../base/checksum.ts'
import { createCrc, type Hasher } from './crc.ts'

export function createHasher(algorithm: ChecksumAlgorithm): Hasher {
  switch (algorithm) {
    case 'crc32':
      return createCrc32()
    case 'crc32c':
    case 'crc64nvme':
      return createCrc(algorithm)
    default: {
      const hash = createHash(algorithm)
      return { update: (chunk) => void hash.update(chunk), digest: () => hash.digest('hex') }
    }
  }
}

function createCrc32(): Hasher {
  let value = 0
  return {
    update: (chunk) => {
      value = crc32(chunk, value)
    },
    digest: () => value.toString(16).padStart(8, '0'),
  }
}

const READ_BYTES = 1024 * 1024

/** Computes the checksum of a file, or of a range of it. Calls `read` after each read with the number of bytes. */
export async function hashFile(
  path: string,
  algorithm: ChecksumAlgorithm,
  signal: AbortSignal,
  { start, end }: { start: number; end: number } = { start: 0, end: Number.MAX_SAFE_INTEGER },
  read: (bytes: number) => void = () => undefined,
): Promise<string> {
  const hasher = createHasher(algorithm)
  const file = await open(path, 'r')
  try {
    const buffer = Buffer.allocUnsafe(READ_BYTES)
    for (let at = start; at < end; ) {
      signal.throwIfAborted()
      const { bytesRead } = await file.read(buffer, 0, Math.min(READ_BYTES, end - at), at)
      if (bytesRead === 0) break
      hasher.update(buffer.subarray(0, bytesRead))
      at += bytesRead
      read(bytesRead)
    }
    return hasher.digest()
  } finally {
    await file.close()
  }
}

/** As `hashFile`, of the first `size` bytes of an open file, since its path may have another file meanwhile. */
export function hashOpenFile(
  { file, size }: { file: FileHandle; size: number },
  algorithm: ChecksumAlgorithm,
  signal: AbortSignal,
  read: (bytes: number) => void,
): Promise<string> {
  return hashFile(`/proc/self/fd/${file.fd}`, algorithm, signal, { start: 0, end: size }, read)
}
