/** Where a download is while it is not complete, and the one step that makes it appear: everything beside the target, below the root. */
import { execFile } from 'node:child_process'
import { lstat, mkdir, open, opendir, readFile, realpath, rename, rm } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { isCount, isObject } from '../../core/json.ts'
import { MoverError } from '../mover-error.ts'

export interface Place {
  target: string
  /** The mover's own things: journal, manifest, the record of a complete download. */
  state: string
  /** The files before they appear; becomes the target. In place: the target. */
  files: string
  /** In place: where a file is while it is not complete. */
  parts: string
}

/** The record of a complete download. A target of the same origin is never downloaded again. */
export interface Completion {
  origin: string
  bytes: number
  files: number
  digest: string
}

/**
 * Finds the places of a dataset. Throws `Rejected` unless the target is strictly below the root, with real directories between them:
 * a link could lead anywhere on the node.
 */
export async function locate(root: string, target: string, inPlace = false): Promise<Place> {
  const base = await realpath(root).catch((cause: unknown) => {
    throw new MoverError('Rejected', `the root ${root} is not there: the Pod has to mount it`, { cause })
  })
  const path = resolve(target)
  const below = relative(resolve(root), path)
  if (below === '' || below === '..' || below.startsWith(`..${sep}`) || isAbsolute(below)) {
    throw new MoverError('Rejected', `the target ${target} is not below the root ${root}`)
  }
  const real = join(base, below)
  for (let at = real; at !== base; at = dirname(at)) {
    if (at !== real && (await isLink(at))) throw linkError(at)
  }
  if (await isLink(real)) throw linkError(real)
  const state = join(dirname(real), `.${basename(real)}.mover`)
  if (await isLink(state)) throw linkError(state)
  return { target: real, state, files: inPlace ? real : join(state, 'files'), parts: join(state, 'parts') }
}

function linkError(path: string): MoverError {
  return new MoverError('Rejected', `${path} is a symbolic link, which is never followed: remove it`)
}

async function isLink(path: string): Promise<boolean> {
  return lstat(path).then(
    (stats) => stats.isSymbolicLink(),
    () => false,
  )
}

export async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  )
}

/** Whether a path is a directory with nothing in it, such as the kubelet makes for a pod that mounts a missing path. */
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

/** Makes the directories of a download that begins or goes on. Other users cannot look into the state directory. */
export async function prepare({ state, files, parts }: Place): Promise<void> {
  await mkdir(dirname(state), { recursive: true })
  await mkdir(state, { recursive: true, mode: 0o700 })
  await Promise.all([files, parts].map((folder) => mkdir(folder, { recursive: true })))
}

/** Of a download that is complete; undefined when there is none, or its target has gone or was emptied. */
export async function readCompletion(place: Place): Promise<Completion | undefined> {
  const text = await readFile(recordOf(place), 'utf8').catch(() => '')
  if (text === '' || !(await exists(place.target))) return undefined
  // Killed one step before the end: the target does not have the data of the record.
  if (place.files !== place.target && (await exists(place.files))) return undefined
  try {
    const value: unknown = JSON.parse(text)
    const completion = isCompletion(value) ? value : undefined
    return completion && completion.files > 0 && (await isEmptyDirectory(place.target)) ? undefined : completion
  } catch {
    // Cut off by a loss of power: as good as none.
    return undefined
  }
}

function isCompletion(value: unknown): value is Completion {
  if (!isObject(value)) return false
  const { origin, bytes, files, digest } = value
  return typeof origin === 'string' && isCount(bytes) && isCount(files) && typeof digest === 'string'
}

/** Makes the target appear, in place of an empty directory. After this the download is complete, whatever happens. */
export async function publish(place: Place, completion: Completion): Promise<void> {
  const record = await open(recordOf(place), 'w')
  await record.writeFile(JSON.stringify(completion))
  await record.close()
  await flushFileSystem(place.state)
  if (place.files !== place.target) await rename(place.files, place.target).catch(refuseTaken)
  for (const name of ['journal', 'manifest', 'parts'])
    await rm(join(place.state, name), { recursive: true, force: true })
  // The record stays: it is how a mover that comes later knows that there is nothing to do.
  await flushDirectory(dirname(place.target))
}

function refuseTaken(cause: NodeJS.ErrnoException): never {
  if (cause.code !== 'ENOTEMPTY' && cause.code !== 'EEXIST' && cause.code !== 'ENOTDIR') throw cause
  const message = `${cause.path} is complete, but another process wrote to its target meanwhile; delete the target first`
  throw new MoverError('TargetExists', message, { cause })
}

function recordOf({ state }: Place): string {
  return join(state, 'complete.json')
}

/**
 * A rename may reach the disk before the data does, and a node that loses its power then has a complete target with empty files. One flush
 * of the file system costs less than one of each file; Node has no call for it, coreutils has.
 */
async function flushFileSystem(path: string): Promise<void> {
  await new Promise<void>((done, fail) => {
    execFile('sync', ['-f', path], (error) => {
      if (error === null) return done()
      fail(new MoverError('Unexpected', `sync -f ${path}: ${error.message}`, { cause: error }))
    })
  })
}

async function flushDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}
