/** Runs jobs concurrently up to a limit. The next job starts when one has ended. */

export type Job = () => Promise<void>

/** Resolves when all jobs have ended. The first failure aborts the signal of the jobs and is thrown. */
export async function runPool(
  jobs: (signal: AbortSignal) => AsyncGenerator<Job>,
  parallel: number,
  outer: AbortSignal,
): Promise<void> {
  const ending = new AbortController()
  const forward = () => ending.abort(outer.reason)
  if (outer.aborted) forward()
  outer.addEventListener('abort', forward)
  const source = jobs(ending.signal)

  async function work(): Promise<void> {
    try {
      while (!ending.signal.aborted) {
        const { value: job, done } = await source.next()
        if (done === true) return
        await job()
      }
    } catch (error) {
      ending.abort(error)
    }
  }

  try {
    await Promise.all(Array.from({ length: parallel }, work))
    await source.return(undefined)
  } finally {
    outer.removeEventListener('abort', forward)
  }
  ending.signal.throwIfAborted()
}
