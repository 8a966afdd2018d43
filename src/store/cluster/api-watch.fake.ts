/** An open watch of the fake API server. It sends events when a test requests them, or when an object changes. */
import type { ServerResponse } from 'node:http'
import { isObject } from '../../base/json.ts'
import type { View } from './api-responses.fake.ts'

export interface OpenWatch {
  query: URLSearchParams
  /** The only namespace whose events it has. */
  namespace: string | undefined
  send(type: string, object: unknown): void
  /** Sends bytes unchanged, for chunks that end anywhere in an event. */
  sendBytes(bytes: Uint8Array | string): void
  bookmark(): void
  end(): void
  reset(): void
}

/** Begins the response of a watch. `version` returns the resource version for bookmarks. */
export function openWatch(
  query: URLSearchParams,
  response: ServerResponse,
  view: View,
  version: () => string,
  namespace?: string,
): OpenWatch {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.flushHeaders()
  const sendBytes = (bytes: Uint8Array | string): void => void response.write(bytes)
  const send = (type: string, object: unknown): void =>
    sendBytes(`${JSON.stringify({ type, object: isObject(object) ? view(object) : object })}\n`)
  return {
    query,
    namespace,
    send,
    sendBytes,
    bookmark: () => send('BOOKMARK', { metadata: { resourceVersion: version() } }),
    end: () => void response.end(),
    reset: () => void response.destroy(),
  }
}
