/** Checks that a directory can be read, for data that exists already, that a Pod mounts, or that another program will write. */
import { opendir } from 'node:fs/promises'
import { makeFolder } from '../time/make-folder.ts'
import type { Done } from './download/download.ts'
import { exists, locate } from './download/staging.ts'

export interface PrepareInput {
  root: string
  target: string
}

/**
 * Creates the directory when it is missing, and reads from it. Throws a `MoverError` when the target is not allowed, otherwise the error of
 * the file system.
 */
export async function prepareDirectory(input: PrepareInput): Promise<Done> {
  const { target } = await locate(input.root, input.target)
  if (!(await exists(target))) await makeFolder(target)
  const directory = await opendir(target)
  try {
    const first = await directory.read()
    return { bytes: 0, files: 0, message: first === null ? 'is empty and can be read' : 'can be read' }
  } finally {
    await directory.close()
  }
}
