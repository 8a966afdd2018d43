/** Sends requests to the active one of several NameNodes. */
import { openFailover } from '../failover.ts'
import type { HttpClient, HttpResponse } from '../http/http.ts'
import { LocalityError } from '../locality.ts'

/** Exceptions of a NameNode that is not active or is still starting. */
const ELSEWHERE = new Set(['StandbyException', 'RetriableException', 'ObserverRetryOnActiveException'])

export interface NameNodes {
  /** Sends a GET to the first server that can answer. Throws the last error when none can. */
  send(path: string, signal: AbortSignal): Promise<HttpResponse>
}

/**
 * @param urls one for each server
 * @param exceptionOf returns the class of the exception in a response
 */
export function openNameNodes(
  urls: readonly string[],
  http: HttpClient,
  exceptionOf: (response: HttpResponse) => string | undefined,
): NameNodes {
  const failover = openFailover(urls)

  async function ask(url: string, path: string, signal: AbortSignal): Promise<HttpResponse> {
    const response = await http.exchange({ method: 'GET', url: `${url}${path}` }, signal)
    const exception = exceptionOf(response)
    if (exception !== undefined && ELSEWHERE.has(exception)) {
      throw new LocalityError('unavailable', `${response.what}: ${exception}`)
    }
    // Another server may be healthy. Other responses are final.
    if (response.status >= 500 || response.status === 429) throw http.refusal(response, exception)
    return response
  }

  return { send: (path, signal) => failover((url) => ask(url, path, signal), signal) }
}
