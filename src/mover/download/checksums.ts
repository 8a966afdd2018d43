/** Records the verified checksums of downloaded files, so that a later mover can compare the files with them without the source. */
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Checksum } from '../../core/mover/checksum.ts'
import { openLineLog } from './line-log.ts'
import { type Entry, idOf } from './manifest.ts'
import type { Place } from './staging.ts'

export interface RecordedChecksum extends Checksum {
  /** The id of the object (`idOf`). Checksums of objects that are not in the manifest any more are ignored. */
  id: string
  path: string
}

export interface ChecksumLog {
  add(entry: Entry, checksum: Checksum): void
  copy(recorded: RecordedChecksum): void
  close(): Promise<void>
}

const fileOf = ({ state }: Pick<Place, 'state'>) => join(state, 'checksums')

/** @param resumed whether the checksums of an earlier attempt are kept */
export async function openChecksums(place: Place, resumed: boolean): Promise<ChecksumLog> {
  const log = await openLineLog(fileOf(place), resumed ? 'a' : 'w')
  const copy = ({ id, path, algorithm, value }: RecordedChecksum) =>
    log.append(JSON.stringify({ id, path, algorithm, value }))
  return { copy, add: (entry, checksum) => copy({ ...checksum, id: idOf(entry), path: entry.path }), close: log.close }
}

/** Reads the recorded checksums; none when the file is missing. Skips the incomplete line of a mover that was killed. */
export async function* readChecksums(place: Place): AsyncGenerator<RecordedChecksum> {
  const file = await open(fileOf(place), 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return undefined
  })
  if (!file) return
  try {
    for await (const line of file.readLines()) {
      if (line.startsWith('{') && line.endsWith('}')) yield JSON.parse(line) as RecordedChecksum
    }
  } finally {
    await file.close().catch(() => undefined)
  }
}
