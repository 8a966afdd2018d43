/** Several servers of which one answers: asked in turn, the last good one first. */
import type { HttpClient, HttpResponse } from '../http/http.ts'
import { LocalityError } from './plugin.ts'

/** A NameNode that is not the active one, or is still starting. */
const ELSEWHERE = new Set(['StandbyException', 'RetriableException', 'ObserverRetryOnActiveException'])

export interface NameNodes {
  /** Sends a GET to the first server that can answer; throws the last one's error when none can. */
  send(path: string, signal: AbortSignal): Promise<HttpResponse>
}

/**
 * @param urls one for each server
 * @param exceptionOf the class of the exception in an answer
 */
export function openNameNodes(
  urls: readonly string[],
  http: HttpClient,
  exceptionOf: (response: HttpResponse) => string | undefined,
): NameNodes {
  let lastGood = 0

  async function ask(url: string, path: string, signal: AbortSignal): Promise<HttpResponse> {
    const response = await http.exchange({ method: 'GET', url: `${url}${path}` }, signal)
    const exception = exceptionOf(response)
    if (exception !== undefined && ELSEWHERE.has(exception)) {
      throw new LocalityError('unavailable', `${response.what}: ${exception}`)
    }
    // Another server may be healthy although this one is not; its answer to the query itself is final.
    if (response.status >= 500 || response.status === 429) throw http.refusal(response, exception)
    return response
  }

  /** One round over all servers: no pause between them, since each may be the one that is well. */
  async function round(path: string, signal: AbortSignal): Promise<HttpResponse> {
    const first = lastGood
    let failure: unknown
    for (let i = 0; i < urls.length; i++) {
      const node = (first + i) % urls.length
      try {
        const response = await ask(urls[node] ?? '', path, signal)
        lastGood = node
        return response
      } catch (error) {
        signal.throwIfAborted()
        failure = error
      }
    }
    throw failure
  }

  return { send: round }
}
