/** Checks that a directory can be read, for data that exists already, that a Pod mounts, or that another program will write. */
import { opendir } from 'node:fs/promises'
import { makeFolder } from '../base/make-folder.ts'
import type { Done } from './download/download.ts'
import { exists, locate } from './download/staging.ts'
import { openExisting } from './existing.ts'

export interface PrepareInput {
  root: string
  target: string
  /** Whether a missing directory is an error. Then nothing is created, and the target may be the root itself. */
  mustExist: boolean
}

/**
 * Creates the directory when it is missing, and reads from it. A directory that denies the mover is there nevertheless: an NFS server that
 * squashes root does so, and pods of its owner can read it. Throws a `MoverError` when the target is not allowed, otherwise the error of the
 * file system.
 */
export async function prepareDirectory({ root, target, mustExist }: PrepareInput): Promise<Done> {
  if (mustExist) {
    const directory = await openExisting(root, target)
    // Of the open directory, since its path may lead elsewhere meanwhile.
    return readFrom(`/proc/self/fd/${directory.fd}`).finally(() => directory.close())
  }
  const place = await locate(root, target)
  if (!(await exists(place.target))) await makeFolder(place.target)
  return readFrom(place.target).catch((error: NodeJS.ErrnoException) => {
    if (!DENIED.has(error.code)) throw error
    return { bytes: 0, files: 0, message: 'is there, and only other users can read it' }
  })
}

const DENIED: ReadonlySet<string | undefined> = new Set(['EACCES', 'EPERM'])

async function readFrom(path: string): Promise<Done> {
  const directory = await opendir(path)
  try {
    const first = await directory.read()
    return { bytes: 0, files: 0, message: first === null ? 'is empty and can be read' : 'can be read' }
  } finally {
    await directory.close()
  }
}
