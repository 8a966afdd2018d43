/** Records uploads in parts that have not ended, beside the data, so that the next mover aborts those of a mover that was killed. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isObject, parseJson } from '../../base/json.ts'
import { openLossyLog } from '../download/line-log.ts'
import type { Place } from '../download/staging.ts'
import { MoverError } from '../mover-error.ts'
import type { ObjectStore, PendingUpload, PendingUploads } from '../objects/object-store.ts'

const pendingFile = ({ state }: Pick<Place, 'state'>) => join(state, 'pending')

/** Aborts the uploads of an earlier mover, and begins a new record. The state directory exists. */
export async function openPending(place: Place, store: ObjectStore, signal: AbortSignal): Promise<PendingUploads> {
  for (const one of await readPending(place, store)) {
    await store.abort?.(one, signal).catch((error: unknown) => {
      // It has ended, or the credentials may not abort it. The files are uploaded nevertheless.
      if (!(error instanceof MoverError)) throw error
    })
  }
  const log = await openLossyLog(pendingFile(place), 'w')
  const uriOf = ({ key }: PendingUpload) => store.objectUri(key)
  return {
    begin: (one) => log.append(JSON.stringify({ ...one, uri: uriOf(one) })),
    end: ({ id }) => log.append(JSON.stringify({ ended: id })),
    close: log.close,
  }
}

/** The uploads to this store that have begun and not ended. Skips the incomplete line of a mover that was killed. */
async function readPending(place: Place, store: ObjectStore): Promise<PendingUpload[]> {
  const text = await readFile(pendingFile(place), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return ''
  })
  const pending = new Map<string, PendingUpload>()
  for (const line of text.split('\n')) {
    const value = parseJson(line)
    if (!isObject(value)) continue
    const { key, id, uri, ended } = value
    if (typeof ended === 'string') pending.delete(ended)
    else if (typeof key === 'string' && typeof id === 'string' && uri === store.objectUri(key))
      pending.set(id, { key, id })
  }
  return [...pending.values()]
}
