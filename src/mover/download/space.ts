/** Checks the free space of a disk before a download. */
import { statfs } from 'node:fs/promises'
import { formatBytes } from '../../base/quantity.ts'
import type { MoverDisk } from '../../core/mover-contract/contract.ts'
import { MoverError } from '../mover-error.ts'

/** The disk of a path; undefined when it cannot be read. */
export async function measureDisk(path: string): Promise<MoverDisk | undefined> {
  const stats = await statfs(path).catch(() => undefined)
  return stats && { freeBytes: stats.bavail * stats.bsize, totalBytes: stats.blocks * stats.bsize }
}

/** Throws `NoSpace` unless the bytes and files fit on the disk of the path and leave `keepFree` bytes free. */
export async function requireSpace(path: string, bytes: number, files: number, keepFree: number): Promise<void> {
  const { bavail, bsize, ffree, files: inodes } = await statfs(path)
  const free = bavail * bsize
  if (bytes + keepFree > free) {
    throw new MoverError(
      'NoSpace',
      `${formatBytes(bytes)} needed and ${formatBytes(keepFree)} reserved, but the disk of ${path} has ${formatBytes(free)}; ` +
        'free disk or use another node',
    )
  }
  // A file system without a fixed number of inodes reports 0.
  if (inodes > 0 && files > ffree) {
    throw new MoverError(
      'NoSpace',
      `${files} inodes needed, but the disk of ${path} has ${ffree}; delete files or use another node`,
    )
  }
}
