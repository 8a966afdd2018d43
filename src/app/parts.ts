/** Starts the parts of the application one after another, and stops them in reverse order within a time. */

export interface Part {
  /** In the log, when it does not stop in time. */
  name: string
  start(): Promise<void> | void
  /** Called once, also if the start has failed or was not reached. */
  stop(): Promise<void> | void
  /**
   * `drainStart`: a part that writes, so that another replica takes over at once. `drainEnd`: a part that answers callers. `last`: a
   * part that these work with.
   */
  stopsAt: 'drainStart' | 'drainEnd' | 'last'
}

/** Starts the parts in order, and waits for each. Throws the error of the first one that fails; the next ones are not started. */
export async function startParts(parts: readonly Part[]): Promise<void> {
  for (const part of parts) await part.start()
}

/**
 * Stops the parts, last one first. When the time is over, it aborts the other parts and does not wait for them.
 *
 * @returns the names of the parts that had not stopped in time, or failed to
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

/** Whether it failed. A part that fails to stop does not keep the others from stopping. */
async function settle(stop: Part['stop']): Promise<boolean> {
  try {
    await stop()
    return false
  } catch {
    return true
  }
}
