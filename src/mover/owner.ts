/**
 * Makes a mover the only writer of a dataset. A later mover takes over: a Pod that was deleted by force may still run, or may have left
 * its lock. The lock is a file with the name of its owner, beside the data.
 */
import { randomBytes } from 'node:crypto'
import { open, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeFolder } from '../base/make-folder.ts'
import { isDiskFull, MoverError } from './mover-error.ts'

export interface Owner {
  /** Aborts with `TakenOver` when a later mover has taken over, and with the reason of the mover's own signal. */
  readonly signal: AbortSignal
  /** Runs a step that makes data visible. A later mover waits for its end. Throws `TakenOver` if another mover owns the data. */
  publish<T>(step: () => Promise<T>): Promise<T>
  /** Removes the lock. */
  release(): Promise<void>
}

const OWNER = 'owner-'
const PUBLISHING = 'publishing-'
/** The lock of a mover that has ended. Pods may use the last inode, and a later mover needs none for this file. */
const RELEASED = 'released'

/** How often an owner checks that it still is the owner, and shows that it runs. */
const CHECK_MS = 500
/** An owner whose file is older does not run any more. */
const STOPPED_MS = 5 * CHECK_MS
/** The longest time for the rename that publishes data. A mover that needs longer was killed in it. */
const PUBLISH_MS = 30_000

/**
 * Takes the lock of a dataset. If the last owner still runs, it waits until that one has stopped.
 *
 * @param outer the signal of the mover
 */
export async function takeOver({ state }: { state: string }, outer: AbortSignal): Promise<Owner> {
  const token = randomBytes(8).toString('hex')
  const lock = join(state, `${OWNER}${token}`)
  await makeFolder(state, 0o700)
  await createLock(state, lock)
  await stopOthers({ state }, outer, lock)

  const lost = new AbortController()
  const check = () =>
    utimes(lock, new Date(), new Date()).catch(async (error: NodeJS.ErrnoException) => {
      lost.abort(error.code === 'ENOENT' ? await takenOver(state) : error)
    })
  const timer = setInterval(() => void check(), CHECK_MS)
  const signal = AbortSignal.any([outer, lost.signal])
  return {
    signal,
    async publish(step) {
      signal.throwIfAborted()
      clearInterval(timer)
      const publishing = join(state, `${PUBLISHING}${token}`)
      // One of two movers can rename or remove the file.
      await rename(lock, publishing).catch(async (error: NodeJS.ErrnoException) => {
        throw error.code === 'ENOENT' ? await takenOver(state) : error
      })
      try {
        return await step()
      } finally {
        await keepReleased(state, publishing)
      }
    },
    async release() {
      clearInterval(timer)
      await keepReleased(state, lock)
    },
  }
}

async function createLock(state: string, lock: string): Promise<void> {
  const file = await open(lock, 'wx', 0o600).catch(async (error: unknown) => {
    if (!isDiskFull(error)) throw error
    await rename(join(state, RELEASED), lock).catch(() => {
      throw error
    })
    return open(lock, 'r+')
  })
  const nameOwner = file.writeFile(hostname()).catch((error: unknown) => {
    // The name is only for a message.
    if (!isDiskFull(error)) throw error
  })
  await nameOwner.finally(() => file.close())
}

async function keepReleased(state: string, lock: string): Promise<void> {
  await rename(lock, join(state, RELEASED)).catch(undefinedIfMissing)
}

/**
 * Removes the locks of other movers of a dataset, and waits until they have stopped. It writes nothing, since the disk may be full.
 *
 * @param lock the lock that stays
 */
export async function stopOthers({ state }: { state: string }, signal: AbortSignal, lock?: string): Promise<void> {
  // A mover that runs notices at its next check.
  if (await removeOthers(state, lock, signal)) await sleep(STOPPED_MS, undefined, { signal })
}

/** Removes the locks of other movers, and returns whether one of them may still run. */
async function removeOthers(state: string, lock: string | undefined, signal: AbortSignal): Promise<boolean> {
  let wasRunning = false
  for (const name of await readdir(state)) {
    const path = join(state, name)
    if (name.startsWith(OWNER) && path !== lock) {
      wasRunning ||= Date.now() - ((await checkedAt(path)) ?? 0) < STOPPED_MS
      await rm(path, { force: true })
    } else if (name.startsWith(PUBLISHING)) {
      await untilPublished(path, signal)
    }
  }
  return wasRunning
}

async function untilPublished(path: string, signal: AbortSignal): Promise<void> {
  const isPublishing = async () => Date.now() - ((await checkedAt(path)) ?? 0) < PUBLISH_MS
  for (let waited = 0; waited < PUBLISH_MS && (await isPublishing()); waited += CHECK_MS) {
    await sleep(CHECK_MS, undefined, { signal })
  }
  await rm(path, { force: true })
}

/** The time of the last check of an owner, in ms since the epoch; undefined without the file. */
async function checkedAt(path: string): Promise<number | undefined> {
  return (await stat(path).catch(undefinedIfMissing))?.mtimeMs
}

function undefinedIfMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}

async function takenOver(state: string): Promise<MoverError> {
  const names = (await readdir(state).catch(undefinedIfMissing)) ?? []
  const other = names.find((name) => name.startsWith(OWNER))
  const by = other && (await readFile(join(state, other), 'utf8').catch(undefinedIfMissing))
  return new MoverError(
    'TakenOver',
    `${by?.slice(0, 253) || 'another mover'} has taken over the directory; this mover stops`,
  )
}
