/** Walks the regular files below a folder. File names are bytes; names that are not UTF-8 cannot be keys, and are reported. */
import { isUtf8 } from 'node:buffer'
import { escapeBytes, joinBytes, openBytes } from '../file-names.ts'
import { openBelow } from './open-below.ts'

export interface Seen {
  mtimeMs: number
  size: number
}

export type Walked = { path: string; stats: Seen } | { unnamed: string }

/**
 * Yields every regular file below a folder. Links are not followed, because they could point out of it. A file or folder whose path is not
 * UTF-8 is yielded as `unnamed`, with its bytes escaped.
 */
export async function* walk(folder: string, signal: AbortSignal): AsyncGenerator<Walked> {
  const below: Buffer[] = [Buffer.alloc(0)]
  for (let path = below.pop(); path !== undefined; path = below.pop()) {
    for await (const { entry, name } of openBytes(joinBytes(Buffer.from(folder), path))) {
      signal.throwIfAborted()
      const child = joinBytes(path, name)
      if (!entry.isDirectory() && !entry.isFile()) continue
      if (!isUtf8(name)) {
        yield { unnamed: escapeBytes(child) }
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
