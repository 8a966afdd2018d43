/** Joins abort signals for as long as one piece of work takes, and lets go of them after it. */

/**
 * Runs `work` with a signal that aborts as soon as one of `signals` does, with its reason.
 * `AbortSignal.any` would do, but what it makes stays registered with signals that live as long as the process.
 */
export async function withSignals<T>(
  signals: readonly AbortSignal[],
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const joined = new AbortController()
  const pass = (event: Event) => joined.abort((event.target as AbortSignal).reason)
  for (const signal of signals) {
    if (signal.aborted) joined.abort(signal.reason)
    signal.addEventListener('abort', pass, { once: true })
  }
  try {
    return await work(joined.signal)
  } finally {
    for (const signal of signals) signal.removeEventListener('abort', pass)
  }
}
