/** A container of Azure Blob Storage: authorized requests with retries. */
import { createHmac } from 'node:crypto'
import { defined } from '../../base/json.ts'
import { keyPath, queryText } from '../../base/net/url-encoding.ts'
import { type RetryOptions, withRetries } from '../http/backoff.ts'
import type { HttpClient } from '../http/client.ts'
import { bodyLength, type HttpResponse, type SinkFor } from '../http/messages.ts'
import type { ObjectRequest } from '../objects/object-store.ts'
import { errorOfAnswer } from './azure-error.ts'
import type { AzureCredentialSource } from './credentials.ts'
import { stringToSign } from './shared-key.ts'

export interface ContainerOptions {
  endpoint: string
  container: string
  credentials: AzureCredentialSource
  retry: RetryOptions
  /** Milliseconds since the epoch. */
  now: () => number
}

export interface Container {
  readonly retry: RetryOptions
  /** The URL of a blob, without a SAS token. */
  objectUri(key: string): string
  /** Makes one attempt and returns the response of any status. It follows no redirects. */
  exchange(request: ObjectRequest, signal: AbortSignal, receive?: SinkFor): Promise<HttpResponse>
  /** Sends with retries. Throws a `MoverError` for a response of status 300 or above. */
  send(request: ObjectRequest, signal: AbortSignal): Promise<HttpResponse>
}

/** The first version with encoded names in listings, which Azurite and Azure Stack know too. */
const VERSION = '2021-02-12'

export function openContainer(
  { endpoint, container, credentials, retry, now }: ContainerOptions,
  http: HttpClient,
): Container {
  const { origin, pathname } = new URL(endpoint)
  const base = `${pathname.replace(/\/$/, '')}/${container}`
  const objectUri = (key: string) => `${endpoint}/${container}/${key}`

  async function exchange(request: ObjectRequest, signal: AbortSignal, receive?: SinkFor): Promise<HttpResponse> {
    const { method, key, query = {}, body } = request
    const path = key === '' ? base : `${base}/${keyPath(key)}`
    const headers: Record<string, string> = {
      ...request.headers,
      'x-ms-date': new Date(now()).toUTCString(),
      'x-ms-version': VERSION,
    }
    const allowed = await credentials()
    if (allowed?.kind === 'key') {
      const contentLength = bodyLength(body ?? '')
      const text = stringToSign({ method, path, query, headers, contentLength }, allowed.account)
      const signature = createHmac('sha256', allowed.key).update(text).digest('base64')
      headers['authorization'] = `SharedKey ${allowed.account}:${signature}`
    }
    const sas = allowed?.kind === 'sas' ? allowed.query : []
    const search = queryText([...Object.entries(query), ...sas])
    const to = { method, origin, path: search === '' ? path : `${path}?${search}`, headers }
    return http.send({ ...to, ...defined({ body }) }, signal, receive)
  }

  return {
    objectUri,
    retry,
    exchange,
    send: (request, signal) =>
      withRetries(retry, signal, async () => {
        const answer = await exchange(request, signal)
        if (answer.status >= 300) throw errorOfAnswer(objectUri(request.key), answer)
        return answer
      }),
  }
}
