/** Limits repeated reports of a cause: the first one, then one after 1 min, 2 min, 4 min, up to 1 h. */

const FIRST_WAIT_MS = 60_000
const LAST_WAIT_MS = 3_600_000

interface Reported {
  dueAtMs: number
  waitMs: number
}

export class RepeatLimit {
  readonly #reported = new Map<string, Reported>()

  /** Whether to report `cause` at `nowMs`. A cause that did not occur for 1 h after its wait counts as new. */
  take(cause: string, nowMs: number): boolean {
    const before = this.#reported.get(cause)
    if (before !== undefined && isWithin(before, nowMs)) return false
    this.#forgetBefore(nowMs - LAST_WAIT_MS)
    const waitMs = this.#reported.has(cause) ? Math.min((before?.waitMs ?? 0) * 2, LAST_WAIT_MS) : FIRST_WAIT_MS
    this.#reported.set(cause, { dueAtMs: nowMs + waitMs, waitMs })
    return true
  }

  #forgetBefore(atMs: number): void {
    for (const [cause, { dueAtMs }] of this.#reported) if (dueAtMs < atMs) this.#reported.delete(cause)
  }
}

/** Whether the wait after a report is not over. A report that lies in the future was made before the clock was set back. */
function isWithin({ dueAtMs, waitMs }: Reported, nowMs: number): boolean {
  return nowMs < dueAtMs && nowMs >= dueAtMs - waitMs
}
