/** What an upload compares the files with: the manifest of the download, and the record of earlier uploads of the same directory. */
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { defined, isObject, parseJson } from '../../base/json.ts'
import { makeFolder } from '../../base/make-folder.ts'
import type { ListedObject, ObjectPlace } from '../../base/objects.ts'
import { readRecords } from '../download/checksums.ts'
import { type LineLog, openLossyLog, readLines } from '../download/line-log.ts'
import { entryId, readEntries } from '../download/manifest.ts'
import { exists, type Place, readRecord } from '../download/staging.ts'
import { isDiskFull } from '../mover-error.ts'

/** The object of a file as this directory last received or sent it. */
export interface BaseObject extends ListedObject {
  /** The modification time of the file then; undefined if an older mover downloaded it, and for a file that was changed just before. */
  mtimeMs?: number
  /** The checksum of the file then, if its time was too recent to be a proof. */
  sha256?: string
  /** The key of the copy of the file, when the object had changed too. */
  conflict?: string
}

export interface UploadBase {
  get(key: string): BaseObject | undefined
  /** Whether the directory received or sent objects below a key, as if it were a folder. */
  hasFolder(key: string): boolean
  /** Records the object of a file that was uploaded. A mover that is killed before compares the content. */
  set(base: BaseObject): void
  close(): Promise<void>
}

/** In the first line, so that an upload to another prefix compares nothing with it. */
const headerLine = ({ url }: ObjectPlace) => `lodestone uploads 1 to ${url}`

/** Reads the base of a directory, and opens the record of uploads. */
export async function openBase(place: Place, target: ObjectPlace): Promise<UploadBase> {
  const { objects, folders } = await readDownloaded(place, target)
  const path = join(place.state, 'uploads')
  await makeFolder(place.state, 0o700)
  const recorded = await readUploads(path, target)
  for (const [key, one] of recorded?.objects ?? []) objects.set(key, one)
  if (recorded && recorded.lines > MAX_LINES_OF_KEY * recorded.objects.size + FEW_LINES)
    await shorten(path, target, recorded.objects.values())
  for (const key of objects.keys()) addFolders(folders, key)
  // Pods may have filled the disk. Without a record, the next mover compares the content.
  const log: LineLog = await openLossyLog(path, recorded ? 'a' : 'w')
  if (!recorded) log.append(headerLine(target))
  return {
    get: (key) => objects.get(key),
    hasFolder: (key) => folders.has(key),
    set(base) {
      objects.set(base.key, base)
      addFolders(folders, base.key)
      log.append(JSON.stringify(base))
    },
    close: () => log.close(),
  }
}

/** The objects and folders of the download; none if it came from elsewhere. */
async function readDownloaded(place: Place, target: ObjectPlace) {
  const objects = new Map<string, BaseObject>()
  const folders = new Set<string>()
  const record = await readRecord(place)
  const manifest = join(place.state, 'manifest')
  // The source is the target, or an object in it.
  if (!record?.origin.startsWith(target.url) || !(await exists(manifest))) return { objects, folders }
  const times = new Map<string, number>()
  for await (const one of readRecords(place)) if ('mtimeMs' in one) times.set(one.id, one.mtimeMs)
  for await (const entry of readEntries(manifest)) {
    if (entry.isFolder) addFolders(folders, entry.key)
    // Another rule for paths would compare a file with the object of another file.
    if (entry.isFolder || entry.key !== `${target.key}${entry.path}`) continue
    const { key, size, etag, md5 } = entry
    const mtimeMs = times.get(entryId(entry))
    objects.set(key, defined({ key, size, etag, md5: md5 || undefined, mtimeMs }))
  }
  return { objects, folders }
}

/** Adds the folders of a key, without slashes at their ends. */
function addFolders(folders: Set<string>, key: string): void {
  for (const folder of foldersOf(key)) {
    if (folders.has(folder)) return
    folders.add(folder)
  }
}

/** The folders of a key, the innermost first. */
export function* foldersOf(key: string): Generator<string> {
  for (let at = key.lastIndexOf('/'); at > 0; at = key.lastIndexOf('/', at - 1)) yield key.slice(0, at)
}

/** The recorded uploads, the newest of each key; undefined if there is no record for this target. */
async function readUploads(path: string, target: ObjectPlace) {
  if (!(await exists(path))) return undefined
  const objects = new Map<string, BaseObject>()
  let lines = 0
  for await (const line of readLines(path)) {
    if (lines === 0 && line !== headerLine(target)) return undefined
    lines += 1
    // The last line of a mover that was killed, or whose disk was full, may be incomplete.
    const base = parseJson(line)
    if (isObject(base)) objects.set(base['key'] as string, base as unknown as BaseObject)
  }
  return lines === 0 ? undefined : { objects, lines }
}

/** A record with more lines for each key is shortened: each upload of a file adds one. A short record stays as it is. */
const MAX_LINES_OF_KEY = 2
const FEW_LINES = 1000
const LINES_OF_A_WRITE = 1000

/** Replaces the record by one with one line for each key. On a full disk, it stays as it is. */
async function shorten(path: string, target: ObjectPlace, objects: Iterable<BaseObject>): Promise<void> {
  const shorter = `${path}.shorter`
  function* texts() {
    let lines = [headerLine(target)]
    for (const one of objects) {
      lines.push(JSON.stringify(one))
      if (lines.length < LINES_OF_A_WRITE) continue
      yield `${lines.join('\n')}\n`
      lines = []
    }
    if (lines.length > 0) yield `${lines.join('\n')}\n`
  }
  try {
    await writeFile(shorter, texts())
    await rename(shorter, path)
  } catch (error) {
    if (!isDiskFull(error)) throw error
    await rm(shorter, { force: true })
  }
}
