/** Sends requests to one of several equal servers: tries them one after another, beginning with the last successful one. */

export type Failover = <T>(request: (url: string) => Promise<T>, signal: AbortSignal) => Promise<T>

/**
 * Returns a function that tries each server once, without a pause, since the next one may be healthy. A request throws for a server that
 * cannot answer. The function throws the last error when none can, or the reason of the signal.
 *
 * @param urls one for each server
 */
export function openFailover(urls: readonly string[]): Failover {
  let lastGood = 0
  return async (request, signal) => {
    const first = lastGood
    let failure: unknown
    for (let i = 0; i < urls.length; i++) {
      const server = (first + i) % urls.length
      try {
        const response = await request(urls[server] ?? '')
        lastGood = server
        return response
      } catch (error) {
        signal.throwIfAborted()
        failure = error
      }
    }
    throw failure
  }
}
