/** Records uploads in parts that have not ended, beside the data, so that the next mover aborts those of a mover that was killed. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isObject, parseJson } from '../../base/json.ts'
import { FAILURES } from '../../core/mover-contract/contract.ts'
import { openLossyLog } from '../download/line-log.ts'
import type { Place } from '../download/staging.ts'
import { MoverError } from '../mover-error.ts'
import type { ObjectStore, PendingUpload, PendingUploads } from '../objects/object-store.ts'

const pendingFile = ({ state }: Pick<Place, 'state'>) => join(state, 'pending')

/**
 * Aborts the uploads of an earlier mover, and begins a new record with those that may be aborted later. The state directory exists. An upload that
 * cannot be aborted does not prevent others.
 */
export async function openPending(place: Place, store: ObjectStore, signal: AbortSignal): Promise<PendingUploads> {
  const left: PendingUpload[] = []
  for (const one of await readPending(place, store)) {
    await store.abort?.(one, signal).catch((error: unknown) => {
      if (!(error instanceof MoverError)) throw error
      // Else it has ended, or the credentials may not abort it.
      if (FAILURES[error.code].retry) left.push(one)
    })
  }
  const log = await openLossyLog(pendingFile(place), 'w')
  const begin = (one: PendingUpload) => log.append(JSON.stringify({ ...one, uri: store.objectUri(one.key) }))
  left.forEach(begin)
  return { begin, end: ({ id }) => log.append(JSON.stringify({ ended: id })), close: log.close }
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
