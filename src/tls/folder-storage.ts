/**
 * Stores certificates in a folder, which several processes may share.
 *
 * ```text
 * folder/                       mode 0700
 *   v7/                         a complete state, never changed: ca.crt ca.key tls.crt tls.key (keys: mode 0600)
 *   current -> v7               the state that users and other programs read
 *   ca.crt  -> current/ca.crt   and a link for each other file
 * ```
 *
 * A state is written to a temporary folder, which is then renamed to the next number. A rename to a folder with content fails, so that each
 * number is written once. This is the only lock: a crash leaves neither an incomplete state nor a stale lock.
 */
import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readlink, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describeFileError } from '../base/file-error.ts'
import { makeFolder } from '../base/make-folder.ts'
import { readPemFiles, type StoragePlace } from './pem-files.ts'
import { BrokenCertificatesError, type CertificateStorage } from './storage.ts'
import {
  CA_FILE,
  CA_KEY_FILE,
  decodeStoredFiles,
  encodeStoredFiles,
  LEAF_FILE,
  LEAF_KEY_FILE,
  STORED_FILES,
  type StoredFiles,
  sameCertificates,
} from './stored-files.ts'

const STATE = /^v([1-9][0-9]*)$/
const LINKED = [CA_FILE, CA_KEY_FILE, LEAF_FILE, LEAF_KEY_FILE]
// The previous state stays, because another process may be reading it.
const KEPT_STATES = 2

/** Opens a storage in `folder`, which is created by the first write. It also reads plain files in the folder, such as a restored backup. */
export function openFolderStorage(folder: string): CertificateStorage {
  const place: StoragePlace = {
    name: `certificate folder ${folder}`,
    remedy: 'restore the folder, or delete it and restart; Lodestone then creates a new CA, which callers must trust',
  }
  async function readState(number: number): ReturnType<CertificateStorage['read']> {
    return decodeStoredFiles(
      await readPemFiles(number === 0 ? folder : join(folder, `v${number}`), STORED_FILES, place),
      place,
    )
  }
  return {
    async read() {
      const number = (await storedStates(folder)).at(-1) ?? 0
      // This also repairs the links after a crash between the two steps of a write.
      if (number > 0) await naming(folder, () => pointTo(folder, number))
      return readState(number)
    },
    write: (next, previous) =>
      naming(folder, async () => {
        await makeFolder(folder, 0o700)
        const states = await storedStates(folder)
        const number = states.at(-1) ?? 0
        if (!sameCertificates(await readState(number), previous)) return false
        if (!(await writeState(folder, number + 1, encodeStoredFiles(next)))) return false
        await pointTo(folder, number + 1)
        for (const old of states.slice(0, -(KEPT_STATES - 1))) {
          await rm(join(folder, `v${old}`), { recursive: true, force: true })
        }
        return true
      }),
  }
}

/** Runs what writes into the folder. Throws `BrokenCertificatesError` if it fails, as on a full disk or a read-only file system. */
async function naming<T>(folder: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    // Without a code, the message has a remedy already.
    if ((error as NodeJS.ErrnoException).code === undefined) throw error
    const problem = `certificate folder ${folder} cannot be written: ${describeFileError(error)}`
    const remedy = 'set certificates.directory, or XDG_CACHE_HOME for `serve --folder`, to a folder that can be written'
    throw new BrokenCertificatesError(`${problem}; ${remedy}`, { cause: error })
  }
}

/** The numbers of the states in a folder, ascending; empty without a folder. Throws `BrokenCertificatesError` if the folder cannot be read. */
async function storedStates(folder: string): Promise<number[]> {
  try {
    const numbers = (await readdir(folder)).map((name) => Number(STATE.exec(name)?.[1] ?? 0))
    return numbers.filter((number) => number > 0).sort((a, b) => a - b)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return []
    const problem = `certificate folder ${folder} cannot be read: ${describeFileError(error)}`
    throw new BrokenCertificatesError(`${problem}; choose another one`, { cause: error })
  }
}

async function writeState(folder: string, number: number, files: StoredFiles): Promise<boolean> {
  const draft = join(folder, `.new-${randomUUID()}`)
  await mkdir(draft, { mode: 0o700 })
  try {
    for (const [name, text] of Object.entries(files)) {
      await writeFile(join(draft, name), text, { mode: name.endsWith('.key') ? 0o600 : 0o644, flush: true })
    }
    await rename(draft, join(folder, `v${number}`))
    return true
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    // Another process wrote this number first.
    if (hasCode(error, 'ENOTEMPTY') || hasCode(error, 'EEXIST')) return false
    throw error
  }
}

async function pointTo(folder: string, number: number): Promise<void> {
  await replaceLink(join(folder, 'current'), `v${number}`)
  for (const name of LINKED) await replaceLink(join(folder, name), join('current', name))
}

/** Makes `path` a link to `target` atomically: a reader finds the old link or the new one. */
async function replaceLink(path: string, target: string): Promise<void> {
  try {
    if ((await readlink(path)) === target) return
  } catch (error) {
    // The link is missing, or is a plain file of a restored backup, which a state has replaced.
    if (!hasCode(error, 'ENOENT') && !hasCode(error, 'EINVAL')) throw error
  }
  const draft = `${path}.new-${randomUUID()}`
  await symlink(target, draft)
  await rename(draft, path)
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
