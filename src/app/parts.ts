/** Stops the parts of the application one after another, within a time. */

export interface Part {
  /** In the log, when it does not stop in time. */
  name: string
  stop(): Promise<void> | void
}

/**
 * Stops the parts, last started first. When the time is over, it aborts the other parts and does not wait for them.
 *
 * @returns the names of the parts that had not stopped in time, or failed to
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

/** Whether it failed. A part that fails to stop does not keep the others from stopping. */
async function settle(stop: Part['stop']): Promise<boolean> {
  try {
    await stop()
    return false
  } catch {
    return true
  }
}
