// Polls a condition until it holds, for the harness and its tests: nothing here sleeps for a guessed time.
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import type { KubeObject } from './api-client.ts'

export type Pending = undefined | null | false

// `check` answers with the value that was waited for, or with nothing (or throws, so that `expect` works inside) while
// it is not there yet. A check that only asserts must therefore end with `return true`.
export async function eventually<T>(
  description: string,
  check: () => Promise<T | Pending>,
  timeoutMs = 120_000,
  intervalMs = 100,
): Promise<T> {
  const deadline = Date.now() + timeoutMs
  let last: unknown
  for (;;) {
    try {
      const value = await check()
      if (value !== undefined && value !== null && value !== false) return value
      last = value
    } catch (error) {
      last = error
    }
    if (Date.now() >= deadline) {
      const seen = last instanceof Error ? last.message : inspect(last, { depth: 6 })
      throw new Error(`${description}: not reached within ${timeoutMs} ms; last value: ${seen}`, { cause: last })
    }
    await sleep(intervalMs)
  }
}

/** Returns an object after its last write: Karmada's scheduler and controllers write one after the other, and retry. */
export async function settled<T extends KubeObject>(
  description: string,
  read: () => Promise<T | undefined>,
): Promise<T> {
  let before: unknown
  let unchanged = 0
  return eventually(`${description} is not written any more`, async () => {
    const found = await read()
    const version = found?.metadata['resourceVersion']
    unchanged = version !== undefined && version === before ? unchanged + 1 : 0
    before = version
    return unchanged >= 10 && found
  })
}

/** Collects every value that `read` gives until it is stopped. */
export function collect(read: () => Promise<string>): { stop(): Promise<string[]> } {
  const seen = new Set<string>()
  let isOver = false
  const watched = (async () => {
    while (!isOver) seen.add(await read())
  })()
  return {
    async stop() {
      isOver = true
      await watched
      return [...seen]
    },
  }
}
