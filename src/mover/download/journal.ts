/** Records the progress of a download on disk, so that the next mover continues after a mover that was killed. */
import { readFile } from 'node:fs/promises'
import { openLineLog } from './line-log.ts'

export interface Journal {
  /** Whether the file has entries of an earlier attempt with the same header. */
  readonly resumed: boolean
  isDone(id: string): boolean
  /** The parts of an object that are done. */
  partsOf(id: string): ReadonlySet<number>
  /** Records an object or a part as done. It writes in the background, in order; call it only after the data is written. */
  add(id: string, part?: number): void
  /** Removes the entries of an object. */
  forget(id: string): void
  /** Resolves when all entries are in the file. Throws the error of a failed write. */
  close(): Promise<void>
}

/**
 * Opens the journal in a file.
 *
 * @param header identifies the size of parts and the boot of the machine; entries with another header are discarded. After a power loss,
 * the disk may have the journal without the data.
 */
export async function openJournal(path: string, header: string): Promise<Journal> {
  const done = new Set<string>()
  const parts = new Map<string, Set<number>>()
  const resumed = await load(path, header, done, parts)
  const log = await openLineLog(path, resumed ? 'a' : 'w')
  if (!resumed) log.append(header)

  return {
    resumed,
    isDone: (id) => done.has(id),
    partsOf: (id) => parts.get(id) ?? NONE,
    add: (id, part) => log.append(part === undefined ? id : `${id} ${part}`),
    forget(id) {
      done.delete(id)
      parts.delete(id)
      log.append(`${id} ${FORGOTTEN}`)
    },
    close: () => log.close(),
  }
}

/** Returns the header of a journal with parts of so many bytes. */
export async function journalHeader(partSize: number): Promise<string> {
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => 'unknown')
  return `lodestone journal 1, parts of ${partSize} bytes, boot ${boot.trim()}`
}

const NONE: ReadonlySet<number> = new Set()
const FORGOTTEN = 'x'

/** Reads the entries of a journal; returns false when there is none with this header. */
async function load(
  path: string,
  header: string,
  done: Set<string>,
  parts: Map<string, Set<number>>,
): Promise<boolean> {
  const text = await readFile(path, 'utf8').catch(() => '')
  if (!text.startsWith(`${header}\n`)) return false
  // The text after the last line feed is a part of a line.
  for (const line of text.split('\n').slice(1, -1)) {
    const [, id = '', part] = /^([\w-]{16})(?: (\d+|x))?$/.exec(line) ?? []
    if (id === '') continue
    if (part === FORGOTTEN) {
      done.delete(id)
      parts.delete(id)
    } else if (part === undefined) {
      done.add(id)
      parts.delete(id)
    } else {
      const known = parts.get(id) ?? new Set()
      parts.set(id, known.add(Number(part)))
    }
  }
  return true
}
