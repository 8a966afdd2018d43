/**
 * Records the verified checksums and the modification times of downloaded files, so that a later mover can compare the files with them
 * without the source.
 */
import { join } from 'node:path'
import type { Checksum } from '../../base/checksum.ts'
import { isObject, parseJson } from '../../base/json.ts'
import { openLineLog, readLines } from './line-log.ts'
import { type Entry, entryId } from './manifest.ts'
import { exists, type Place } from './staging.ts'

export interface RecordedChecksum extends Checksum {
  /** The id of the object (`entryId`). Checksums of objects that are not in the manifest any more are ignored. */
  id: string
  path: string
}

export interface RecordedTime {
  id: string
  path: string
  mtimeMs: number
}

export interface ChecksumLog {
  add(entry: Entry, checksum: Checksum): void
  /** Records the modification time of a file when it is complete. */
  addTime(entry: Entry, mtimeMs: number): void
  copy(recorded: RecordedChecksum | RecordedTime): void
  close(): Promise<void>
}

const checksumsFile = ({ state }: Pick<Place, 'state'>) => join(state, 'checksums')

/** @param resumed whether the checksums of an earlier attempt are kept */
export async function openChecksums(place: Place, resumed: boolean): Promise<ChecksumLog> {
  const log = await openLineLog(checksumsFile(place), resumed ? 'a' : 'w')
  const copy = (recorded: RecordedChecksum | RecordedTime) => log.append(JSON.stringify(recorded))
  return {
    copy,
    add: (entry, { algorithm, value }) => copy({ id: entryId(entry), path: entry.path, algorithm, value }),
    addTime: (entry, mtimeMs) => copy({ id: entryId(entry), path: entry.path, mtimeMs }),
    close: log.close,
  }
}

/** Reads the recorded checksums; none when the file is missing. */
export async function* readChecksums(place: Pick<Place, 'state'>): AsyncGenerator<RecordedChecksum> {
  for await (const recorded of readRecords(place)) if ('algorithm' in recorded) yield recorded
}

/** Reads all records; none when the file is missing. Skips the incomplete line of a mover that was killed, or whose disk was full. */
export async function* readRecords(place: Pick<Place, 'state'>): AsyncGenerator<RecordedChecksum | RecordedTime> {
  const path = checksumsFile(place)
  if (!(await exists(path))) return
  for await (const line of readLines(path)) {
    const recorded = parseJson(line)
    if (isObject(recorded)) yield recorded as unknown as RecordedChecksum | RecordedTime
  }
}
