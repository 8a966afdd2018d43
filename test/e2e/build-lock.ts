// One build at a time: test files that run at once would build the same programs, and share the caches of Go, npm and Maven.
import { createHash } from 'node:crypto'
import { listening } from './listening.ts'
import { eventually } from './poll.ts'

/**
 * Runs `build` while no other process of this machine builds into the same folder.
 *
 * The lock is an abstract socket, which Linux closes with its process. It saves time only: builds that run at once are correct too, as on
 * other systems.
 *
 * @param build gets whether it has the lock
 * @throws what `build` throws, and an error if the lock is not free after `timeoutMs`
 */
export async function withBuildLock<T>(
  folder: string,
  timeoutMs: number,
  build: (isAlone: boolean) => Promise<T>,
): Promise<T> {
  if (process.platform !== 'linux') return build(false)
  // A path may be longer than the name of a socket.
  const name = createHash('sha256').update(folder).digest('hex')
  const lock = await eventually(
    `no other build into ${folder}`,
    () => listening({ path: `\0lodestone-e2e-${name}` }),
    timeoutMs,
    200,
  )
  try {
    return await build(true)
  } finally {
    await new Promise((resolve) => lock.close(resolve))
  }
}
