/** Starts the parts of the application one after another, and stops them in reverse order within a timeout. */

export interface Part {
  /** The name for the log, if the part does not stop in time. */
  name: string
  start(): Promise<void> | void
  /** Called once, also if the start failed or was not reached. */
  stop(): Promise<void> | void
  /**
   * `drainStart`: a part that writes; it stops first so that another replica can take over. `drainEnd`: a part that serves callers. `last`:
   * a part that the others use.
   */
  stopsAt: 'drainStart' | 'drainEnd' | 'last'
}

/** Starts the parts in order and waits for each. Throws the error of the first part that fails; later parts are not started. */
export async function startParts(parts: readonly Part[]): Promise<void> {
  for (const part of parts) await part.start()
}

/**
 * Stops the parts, the last one first. After the timeout, it calls `stop` of the remaining parts but does not wait for them.
 *
 * @returns the names of the parts that failed to stop, or did not stop in time
 */
export async function stopParts(parts: readonly Pick<Part, 'name' | 'stop'>[], withinMs: number): Promise<string[]> {
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
