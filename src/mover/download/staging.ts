/** The directories of an incomplete download, and the rename that makes it appear. All of them are beside the target, below the root. */
import { execFile } from 'node:child_process'
import { lstatSync } from 'node:fs'
import { lstat, open, opendir, readFile, realpath, rename, rm } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { isCount, isObject } from '../../base/json.ts'
import { makeFolder } from '../../base/make-folder.ts'
import { MoverError } from '../mover-error.ts'
import type { Owner } from '../owner.ts'
import type { Manifest } from './manifest.ts'

export interface Place {
  target: string
  /** The directory of the mover's own files: the journal, the manifest, and the record of a complete download. */
  state: string
  /** The directory of the downloaded files, which is renamed to the target. In place, it is the target. */
  files: string
  /** In place: the directory of incomplete files. */
  parts: string
}

/** The record of a complete download. A download of the same origin is skipped. */
export interface Completion {
  origin: string
  bytes: number
  files: number
  digest: string
}

/**
 * Returns the paths of a dataset. Throws `Rejected` unless the target is strictly below the root, without symbolic links between them: a
 * link could point anywhere on the node.
 */
export async function locate(root: string, target: string, inPlace = false): Promise<Place> {
  const base = await findRoot(root)
  const path = resolve(target)
  const below = relative(resolve(root), path)
  if (below === '' || below === '..' || below.startsWith(`..${sep}`) || isAbsolute(below)) {
    throw new MoverError('Rejected', `the target ${target} is not below the root ${root}`)
  }
  const real = join(base, below)
  for (let at = real; at !== base; at = dirname(at)) if (await isLink(at)) throw linkError(at)
  const state = join(dirname(real), `.${basename(real)}.mover`)
  if (await isLink(state)) throw linkError(state)
  return { target: real, state, files: inPlace ? real : join(state, 'files'), parts: join(state, 'parts') }
}

/** Returns the path of the root without symbolic links. Throws the error of a disk that cannot be read: another attempt may succeed. */
export function findRoot(root: string): Promise<string> {
  return realpath(root).catch((cause: NodeJS.ErrnoException) => {
    if (!isMissing(cause)) throw cause
    throw new MoverError('Rejected', `root ${root} does not exist; mount it in the Pod`, { cause })
  })
}

function isMissing({ code }: NodeJS.ErrnoException): boolean {
  return code === 'ENOENT' || code === 'ENOTDIR'
}

function linkError(path: string): MoverError {
  return new MoverError('Rejected', `${path} is a symbolic link; remove it`)
}

async function isLink(path: string): Promise<boolean> {
  return lstat(path).then(
    (stats) => stats.isSymbolicLink(),
    () => false,
  )
}

/** Whether something is at a path. Throws the error of a disk that cannot be read: it does not mean that the data is missing. */
export async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (!isMissing(error)) throw error
      return false
    },
  )
}

/** Whether a path is an empty directory, such as the kubelet creates for a pod that mounts a missing path. */
export async function isEmptyDirectory(path: string): Promise<boolean> {
  try {
    const directory = await opendir(path)
    try {
      return (await directory.read()) === null
    } finally {
      await directory.close()
    }
  } catch {
    return false
  }
}

/** Creates the directories of a new or resumed download. Other users of the node cannot read the state directory. */
export async function prepare({ state, files, parts }: Place): Promise<void> {
  await makeFolder(dirname(state))
  await makeFolder(state, 0o700)
  await Promise.all([files, parts].map((folder) => makeFolder(folder)))
}

/** Reads the record of a complete download; undefined when there is none, or when the target is missing or empty. */
export async function readCompletion(place: Place): Promise<Completion | undefined> {
  const completion = await readRecord(place)
  if (completion === undefined || !(await exists(place.target))) return undefined
  // The mover was killed before the rename: the target does not have the data of the record.
  if (place.files !== place.target && (await exists(place.files))) return undefined
  return completion.files > 0 && (await isEmptyDirectory(place.target)) ? undefined : completion
}

/** Reads the record of a complete download, whatever the target has; undefined when it is missing or was truncated by a power loss. */
export async function readRecord(place: Pick<Place, 'state'>): Promise<Completion | undefined> {
  const text = await readFile(recordFile(place), 'utf8').catch((error: NodeJS.ErrnoException) => {
    // An error of the disk does not mean that the record is missing.
    if (!isMissing(error)) throw error
    return ''
  })
  try {
    const value: unknown = JSON.parse(text)
    return isCompletion(value) ? value : undefined
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return undefined
  }
}

/** Writes the record of a complete download, and flushes it to the disk. */
export async function writeRecord(place: Pick<Place, 'state'>, completion: Completion): Promise<void> {
  const record = await open(recordFile(place), 'w')
  await record.writeFile(JSON.stringify(completion))
  await record.sync()
  await record.close()
}

function isCompletion(value: unknown): value is Completion {
  if (!isObject(value)) return false
  const { origin, bytes, files, digest } = value
  return typeof origin === 'string' && isCount(bytes) && isCount(files) && typeof digest === 'string'
}

/** Renames the files to the target, which may be an empty directory. After this, the download is complete. */
export async function publish(place: Place, completion: Completion, owner: Pick<Owner, 'publish'>): Promise<void> {
  await writeRecord(place, completion)
  await flushFileSystem(place.state)
  await owner.publish(async () => {
    if (place.files !== place.target) await rename(place.files, place.target).catch(refuseTaken)
  })
  // The record of uploads is about the files that were here before.
  for (const name of ['journal', 'manifest.earlier', 'parts', 'uploads'])
    await rm(join(place.state, name), { recursive: true, force: true })
  // The record, the manifest and the checksums stay, so that a later mover can compare the data with them.
  await flushDirectory(dirname(place.target))
}

/** Throws unless each file has the size of its object: another process may have changed files that were complete. */
export async function requireSizes(manifest: Manifest, folder: string): Promise<void> {
  for await (const { path, size, isFolder } of manifest.entries()) {
    // Synchronous, since a call in the thread pool takes longer than this one.
    const stats = isFolder ? undefined : lstatSync(join(folder, path), { throwIfNoEntry: false })
    if (isFolder || (stats?.isFile() && stats.size === size)) continue
    throw new MoverError('Unexpected', `${path} is missing or has another size: another process has changed it`)
  }
}

function refuseTaken(cause: NodeJS.ErrnoException): never {
  if (cause.code !== 'ENOTEMPTY' && cause.code !== 'EEXIST' && cause.code !== 'ENOTDIR') throw cause
  const message = `${cause.path} is complete, but another process wrote to its target meanwhile; delete the target first`
  throw new MoverError('TargetExists', message, { cause })
}

function recordFile({ state }: Pick<Place, 'state'>): string {
  return join(state, 'complete.json')
}

/**
 * Flushes the file system, because a rename may reach the disk before the data: after a power loss, a complete target would have empty
 * files. One flush of the file system costs less than one of each file. Node has no call for it, so `sync` of coreutils runs.
 */
export async function flushFileSystem(path: string): Promise<void> {
  await new Promise<void>((done, fail) => {
    execFile('sync', ['-f', path], (error) => {
      if (error === null) return done()
      fail(new MoverError('Unexpected', `sync -f ${path}: ${error.message}`, { cause: error }))
    })
  })
}

/** Flushes the entries of a directory to the disk. */
export async function flushDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}
