/** Walks what is below a folder. File names are bytes; names that are not UTF-8 cannot be keys, and are reported. */
import { isUtf8 } from 'node:buffer'
import type { Dirent } from 'node:fs'
import { fileErrorCode } from '../../base/file-error.ts'
import { escapeBytes, joinBytes, openBytes } from '../file-names.ts'
import { asMoverError, MoverError } from '../mover-error.ts'
import { MAX_PATH_BYTES } from '../objects/select.ts'
import { openBelow } from './open-below.ts'

export interface Seen {
  mtimeMs: number
  size: number
}

/**
 * - `unnamed`: a file or folder whose path cannot be a key, and why not. The bytes of the path are escaped.
 * - `left`: what is no file, such as a symbolic link or a socket. It is not uploaded.
 * - `unreadable`: the error for a file or folder that the disk cannot read.
 */
export type Walked =
  | { path: string; stats: Seen }
  | { unnamed: string; reason: string }
  | { left: string }
  | { unreadable: MoverError }

/** Errors of a file or folder that say nothing about others: damage of the disk, and denied permission. */
const UNREADABLE: ReadonlySet<string | undefined> = new Set(['EIO', 'EUCLEAN', 'EBADMSG', 'EACCES', 'EPERM'])

/** Whether an error of a file or folder keeps no other file from its upload. */
export function isUnreadable(error: unknown): boolean {
  return UNREADABLE.has(fileErrorCode(error))
}

/** The error for a path that cannot be read. */
export function unreadableError(path: string, error: unknown): MoverError {
  return new MoverError('Unexpected', `${path} cannot be read: ${asMoverError(error).message}`, { cause: error })
}

/** Yields what is below a folder. Links are not followed, because they could point out of it. */
export async function* walk(folder: string, signal: AbortSignal): AsyncGenerator<Walked> {
  const below: Buffer[] = [Buffer.alloc(0)]
  for (let path = below.pop(); path !== undefined; path = below.pop()) {
    for await (const listed of entriesOf(Buffer.from(folder), path)) {
      signal.throwIfAborted()
      if ('unreadable' in listed) {
        yield listed
        continue
      }
      const { entry, name } = listed
      const child = joinBytes(path, name)
      const walked = leftOut(entry, name, child)
      if (walked) yield walked
      else if (entry.isDirectory()) below.push(child)
      else yield* seenAt(folder, child.toString())
    }
  }
}

/** The result for a file or folder that is not uploaded; undefined if its path can be a key. */
function leftOut(entry: Dirent, name: Buffer, child: Buffer): Walked | undefined {
  if (!entry.isDirectory() && !entry.isFile()) return { left: escapeBytes(child) }
  if (!isUtf8(name)) return { unnamed: escapeBytes(child), reason: 'is not UTF-8' }
  return child.length > MAX_PATH_BYTES ? { unnamed: escapeBytes(child), reason: 'is too long' } : undefined
}

/** The file at a path; nothing if a pod has deleted it. */
async function* seenAt(folder: string, path: string): AsyncGenerator<Walked> {
  try {
    const file = await openBelow(folder, path)
    if (file === undefined) return
    const { mtimeMs, size } = await file.stat().finally(() => file.close())
    yield { path, stats: { mtimeMs, size } }
  } catch (error) {
    if (!isUnreadable(error)) throw error
    yield { unreadable: unreadableError(path, error) }
  }
}

/** Errors of a folder that a pod deleted or replaced after it was listed. */
const GONE = new Set(['ENOENT', 'ENOTDIR'])

/** The entries of a folder below `top`; none if a pod has deleted it. */
async function* entriesOf(top: Buffer, below: Buffer) {
  if (below.length === 0) return yield* openBytes(top)
  try {
    yield* openBytes(joinBytes(top, below))
  } catch (error) {
    if (GONE.has((error as NodeJS.ErrnoException).code ?? '')) return
    if (!isUnreadable(error)) throw error
    yield { unreadable: unreadableError(escapeBytes(below), error) }
  }
}
