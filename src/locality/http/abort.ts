/** Combines abort signals for the duration of one call, and lets a caller stop waiting for a shared result. */

/**
 * Runs `work` with a signal that aborts when one of `signals` aborts, with its reason. Unlike with `AbortSignal.any`, no listener stays on
 * signals that live as long as the process.
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

/** Returns the result of `shared`, or throws the reason of `signal` when it aborts first. The shared work continues. */
export async function untilAborted<T>(shared: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>()
  const abort = () => aborted.reject(signal.reason)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([aborted.promise, shared])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
