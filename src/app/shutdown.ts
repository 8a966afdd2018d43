/** The shutdown of the application: stops its open parts in reverse order, within a timeout. */
import { setTimeout as wait } from 'node:timers/promises'
import type { Logger } from '../telemetry/logger.ts'

export interface Part {
  /** The name for the log, if the part does not stop in time. */
  name: string
  /** Called once. */
  stop(): Promise<void> | void
}

/**
 * When a part stops. `drainStart`: a part that writes; it stops first so that another replica can take over. `drainEnd`: a part that serves
 * callers. `last`: a part that the others use.
 */
export type StopTime = 'drainStart' | 'drainEnd' | 'last'

export interface Shutdown {
  /** Aborts when the stop begins: nothing starts any more, and callers are to connect to another replica. */
  readonly begun: AbortSignal
  /** Aborts when the drain is over. */
  readonly drained: AbortSignal
  /** Adds an open part. Parts with the same time stop in reverse order. */
  add(stopsAt: StopTime, name: string, stop: Part['stop']): void
  /** Drains for this time, and stops every part. Logs the parts that did not stop in time. */
  stop(drainMs: number): Promise<void>
}

/** The time for requests in flight when the server closes, in ms. */
export const CLOSE_SERVER_MS = 2500
/** The time for the server and the loops to finish after the drain, in ms. */
const FINISH_MS = CLOSE_SERVER_MS + 500
/** The time for the other parts to close, in ms. The sum of both is 1 s less than the documented time of a stop. */
const CLOSE_MS = 1000

export function openShutdown(log: Logger): Shutdown {
  const begun = new AbortController()
  const drained = new AbortController()
  const parts: Record<StopTime, Part[]> = { drainStart: [], drainEnd: [], last: [] }
  return {
    begun: begun.signal,
    drained: drained.signal,
    add: (stopsAt, name, stop) => void parts[stopsAt].push({ name, stop }),
    async stop(drainMs) {
      begun.abort()
      const writing = stopParts(parts.drainStart, drainMs + FINISH_MS)
      await wait(drainMs)
      drained.abort()
      const serving = await stopParts(parts.drainEnd, FINISH_MS)
      const late = [...serving, ...(await writing), ...(await stopParts(parts.last, CLOSE_MS))]
      if (late.length > 0) log.warn({ parts: late }, 'not stopped in time')
    },
  }
}

/**
 * Stops the parts, the last one first. After the timeout, it calls `stop` of the remaining parts but does not wait for them.
 *
 * @returns the names of the parts that failed to stop, or did not stop in time
 */
export async function stopParts(parts: readonly Part[], withinMs: number): Promise<string[]> {
  const open = new Set(parts.map(({ name }) => name))
  const timer = Promise.withResolvers<void>()
  const timeout = setTimeout(timer.resolve, withinMs)
  for (const { name, stop } of parts.toReversed()) {
    const stopped = settle(stop).then((failed) => !failed && open.delete(name))
    await Promise.race([stopped, timer.promise])
  }
  clearTimeout(timeout)
  return [...open]
}

/** Stops one part. Returns whether it failed: a failure must not prevent the stop of the other parts. */
async function settle(stop: Part['stop']): Promise<boolean> {
  try {
    await stop()
    return false
  } catch {
    return true
  }
}
