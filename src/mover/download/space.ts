/** Whether a disk has room, before anything is written to it. */
import { statfs } from 'node:fs/promises'
import { formatBytes } from '../../core/quantity.ts'
import { MoverError } from '../mover-error.ts'

/** Throws `NoSpace` unless so many bytes and files fit below the path and leave the reserved space free. */
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
  // Some file systems have no fixed number of inodes, and say 0.
  if (inodes > 0 && files > ffree) {
    throw new MoverError(
      'NoSpace',
      `${files} files are still to come, but the disk of ${path} has only ${ffree} inodes left`,
    )
  }
}
