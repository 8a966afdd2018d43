/** Uploads a directory below a prefix. It skips unchanged files, and never deletes an object. */
import { type FileHandle, opendir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ListedObject, ObjectPlace } from '../../core/mover/objects.ts'
import { uploadPartSize } from '../../core/mover/parts.ts'
import { formatBytes } from '../../core/quantity.ts'
import type { Done } from '../download/download.ts'
import { locate } from '../download/staging.ts'
import { MoverError } from '../mover-error.ts'
import { listBelow } from '../objects/listing.ts'
import type { ObjectStore } from '../objects/object-store.ts'
import { runPool } from '../pool.ts'
import type { Progress } from '../progress.ts'
import { openBelow } from './open-below.ts'

export interface UploadInput {
  openStore: (signal: AbortSignal) => Promise<ObjectStore>
  root: string
  source: string
  place: ObjectPlace
  partSize: number
  parallel: number
  /** Milliseconds between rounds of a continuous upload; absent for an upload that ends. */
  watchMs?: number
}

interface Seen {
  mtimeMs: number
  size: number
}

/** The most rounds of an upload that ends. A file that changes during a round is checked in the next one. */
const MAX_ROUNDS = 3

/** Uploads the directory. Throws a `MoverError`, or the reason of the signal. */
export async function upload(input: UploadInput, progress: Progress, signal: AbortSignal): Promise<Done> {
  const { target: folder } = await locate(input.root, input.source)
  const store = await input.openStore(signal)
  const seen = new Map<string, Seen>()
  for (let round = 1; ; round++) {
    const { files, bytes, changing } = await uploadOnce(input, folder, store, seen, progress, signal)
    if (input.watchMs !== undefined) {
      await sleep(input.watchMs, undefined, { signal })
    } else if (changing.length === 0) {
      return { files, bytes, message: `${files} files, ${formatBytes(bytes)}` }
    } else if (round === MAX_ROUNDS) {
      throw new MoverError('SourceChanged', `still being written, and not uploaded: ${changing.slice(0, 5).join(', ')}`)
    }
  }
}

async function uploadOnce(
  input: UploadInput,
  folder: string,
  store: ObjectStore,
  seen: Map<string, Seen>,
  progress: Progress,
  outer: AbortSignal,
) {
  const there = new Map<string, ListedObject>()
  for await (const object of listBelow(store, input.place.key, outer)) there.set(object.key, object)
  const changing: string[] = []
  let [files, bytes] = [0, 0]
  for await (const { stats } of walk(folder, outer)) {
    files += 1
    bytes += stats.size
  }
  progress.begin(bytes, files)

  async function handle(path: string, stats: Seen, file: FileHandle, signal: AbortSignal): Promise<void> {
    const key = `${input.place.key}${path}`
    const local = { file, size: stats.size, partSize: uploadPartSize(stats.size, input.partSize) }
    const known = there.get(key)
    const last = seen.get(path)
    // The comparison of a large file takes long. Its progress is reported, so that it does not count as stalled.
    let compared = 0
    const look = (bytes: number) => {
      compared += bytes
      progress.adjust(bytes)
    }
    const isUnchanged =
      known?.size === stats.size &&
      ((last?.mtimeMs === stats.mtimeMs && last.size === stats.size) ||
        (await store.hasContent(known, local, signal, look)))
    progress.adjust((isUnchanged ? stats.size : 0) - compared)
    if (!isUnchanged) await store.upload(key, local, progress, signal)
    const { mtimeMs, size } = await file.stat()
    if (mtimeMs !== stats.mtimeMs || size !== stats.size) changing.push(path)
    else seen.set(path, stats)
    progress.fileDone()
  }

  await runPool(
    async function* jobs(signal) {
      for await (const { path, stats } of walk(folder, signal)) {
        yield async () => {
          const file = await openBelow(folder, path)
          if (file === undefined) return void changing.push(path)
          await handle(path, stats, file, signal).finally(() => file.close())
        }
      }
    },
    input.parallel,
    outer,
  )
  return { files, bytes, changing }
}

/** Yields every regular file below a folder. Links are not followed, because they could point out of it. */
async function* walk(folder: string, signal: AbortSignal): AsyncGenerator<{ path: string; stats: Seen }> {
  const below = ['']
  for (let path = below.pop(); path !== undefined; path = below.pop()) {
    for await (const entry of await opendir(join(folder, path))) {
      signal.throwIfAborted()
      const child = path === '' ? entry.name : `${path}/${entry.name}`
      if (entry.isDirectory()) below.push(child)
      if (!entry.isFile()) continue
      const file = await openBelow(folder, child)
      if (file === undefined) continue
      const { mtimeMs, size } = await file.stat().finally(() => file.close())
      yield { path: child, stats: { mtimeMs, size } }
    }
  }
}
