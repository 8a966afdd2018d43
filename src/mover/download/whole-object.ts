/** Downloads an object with one request. Its checksum is computed while the bytes arrive. */
import { constants } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Checksum } from '../../base/checksum.ts'
import type { Hasher } from '../checksum/crc.ts'
import { createHasher } from '../checksum/hashing.ts'
import { fromTheStart } from '../objects/fetch-range.ts'
import type { ObjectFile } from './object-file.ts'

const { O_CREAT, O_NOFOLLOW, O_TRUNC, O_WRONLY } = constants
/** Attempts until the checksum matches. After a second mismatch, the fault is the server's, not the transfer's. */
const VERIFY_ATTEMPTS = 2

export async function downloadWhole(target: ObjectFile, signal: AbortSignal): Promise<void> {
  const { store, folders } = target.context
  await folders.ensure(dirname(target.path))
  const file = await target.open(O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW)
  try {
    for (let attempt = 1; target.entry.size > 0; attempt++) {
      if (await fromTheStart(store.retry, signal, () => fetchAndVerify(target, file, attempt, signal))) break
    }
  } finally {
    await file.close()
  }
  await target.done()
}

/** Fetches an object and returns whether its checksum matches. Throws after the last attempt. */
async function fetchAndVerify(
  target: ObjectFile,
  file: FileHandle,
  attempt: number,
  signal: AbortSignal,
): Promise<boolean> {
  const { entry, context } = target
  const { store, verify, progress, checksums } = context
  const check: { wanted?: Checksum; hasher?: Hasher } = {}
  const begin = (headers: Record<string, string | undefined>) => {
    const wanted = verify === 'size' ? undefined : store.checksumOf({ etag: entry.etag, ...headers })
    if (wanted) Object.assign(check, { wanted, hasher: createHasher(wanted.algorithm) })
  }
  await target.fetch(
    entry,
    { start: 0, end: entry.size },
    file,
    (chunk, writer) => {
      check.hasher?.update(chunk)
      writer.write(chunk)
    },
    signal,
    begin,
  )
  const { wanted, hasher } = check
  if (!wanted || !hasher) return true
  const value = hasher.digest()
  if (value === wanted.value) {
    checksums.add(entry, wanted)
    return true
  }
  progress.adjust(-entry.size)
  if (attempt >= VERIFY_ATTEMPTS) throw target.mismatch(wanted, value)
  return false
}
