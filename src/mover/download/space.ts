/** Checks the free space of a disk before a download. */
import { statfs } from 'node:fs/promises'
import { formatBytes } from '../../core/quantity.ts'
import { MoverError } from '../mover-error.ts'

/** Throws `NoSpace` unless the bytes and files fit on the disk of the path and leave `keepFree` bytes free. */
export async function needSpace(path: string, bytes: number, files: number, keepFree: number): Promise<void> {
  const { bavail, bsize, ffree, files: inodes } = await statfs(path)
  const free = bavail * bsize
  if (bytes + keepFree > free) {
    throw new MoverError(
      'NoSpace',
      `${formatBytes(bytes)} are still to come and ${formatBytes(keepFree)} have to stay free, but the disk of ${path} has ` +
        `${formatBytes(free)}: choose another node or disk, or make room`,
    )
  }
  // A file system without a fixed number of inodes reports 0.
  if (inodes > 0 && files > ffree) {
    throw new MoverError(
      'NoSpace',
      `${files} files are still to come, but the disk of ${path} has only ${ffree} inodes left`,
    )
  }
}
