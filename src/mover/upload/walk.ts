/** Walks what is below a folder. File names are bytes; names that are not UTF-8 cannot be keys, and are reported. */
import { isUtf8 } from 'node:buffer'
import { escapeBytes, joinBytes, openBytes } from '../file-names.ts'
import { MAX_PATH_BYTES } from '../objects/select.ts'
import { openBelow } from './open-below.ts'

export interface Seen {
  mtimeMs: number
  size: number
}

/**
 * - `unnamed`: a file or folder whose path cannot be a key, and why not. The bytes of the path are escaped.
 * - `left`: what is no file, such as a symbolic link or a socket. It is not uploaded.
 */
export type Walked = { path: string; stats: Seen } | { unnamed: string; reason: string } | { left: string }

/** Yields what is below a folder. Links are not followed, because they could point out of it. */
export async function* walk(folder: string, signal: AbortSignal): AsyncGenerator<Walked> {
  const below: Buffer[] = [Buffer.alloc(0)]
  for (let path = below.pop(); path !== undefined; path = below.pop()) {
    for await (const { entry, name } of entriesOf(Buffer.from(folder), path)) {
      signal.throwIfAborted()
      const child = joinBytes(path, name)
      if (!entry.isDirectory() && !entry.isFile()) {
        yield { left: escapeBytes(child) }
        continue
      }
      const reason = !isUtf8(name) ? 'is not UTF-8' : child.length > MAX_PATH_BYTES ? 'is too long' : undefined
      if (reason !== undefined) {
        yield { unnamed: escapeBytes(child), reason }
        continue
      }
      if (entry.isDirectory()) {
        below.push(child)
        continue
      }
      const file = await openBelow(folder, child.toString())
      if (file === undefined) continue
      const { mtimeMs, size } = await file.stat().finally(() => file.close())
      yield { path: child.toString(), stats: { mtimeMs, size } }
    }
  }
}

/** Errors of a folder that a pod deleted or replaced after it was listed. */
const GONE = new Set(['ENOENT', 'ENOTDIR'])

/** The entries of a folder below `top`; none if a pod has deleted it. */
async function* entriesOf(top: Buffer, below: Buffer): ReturnType<typeof openBytes> {
  try {
    yield* openBytes(below.length === 0 ? top : joinBytes(top, below))
  } catch (error) {
    const isGone = below.length > 0 && GONE.has((error as NodeJS.ErrnoException).code ?? '')
    if (!isGone) throw error
  }
}
