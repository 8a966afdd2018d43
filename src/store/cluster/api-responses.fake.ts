/** Responses of the fake API server, and functions that match requests. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { collectionPath, type K8sObject, type ResourceType } from '../../api/meta.ts'
import { defined } from '../../base/json.ts'

export interface ApiRequest {
  method: string
  path: string
  query: URLSearchParams
  headers: IncomingMessage['headers']
}

/** Writes the response to one request. */
export type Answer = (response: ServerResponse) => void

/** The form of an object in a response: complete, or metadata only. */
export type View = (object: object) => object

export const whole: View = (object) => object

/** A Status stays complete in a watch of metadata. */
const partial: View = (object) => {
  const { kind, metadata } = object as Partial<K8sObject>
  return kind === 'Status' ? object : { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata }
}

export function requestedView({ accept }: ApiRequest['headers']): View {
  return accept?.includes(';as=PartialObjectMetadata') ? partial : whole
}

export function isListRequest(type: ResourceType): (request: ApiRequest) => boolean {
  return ({ method, path, query }) => method === 'GET' && path === collectionPath(type) && !query.has('watch')
}

/** Matches a list of one object: a reflector reads the present resource version. */
export function isVersionRequest(type: ResourceType): (request: ApiRequest) => boolean {
  return (request) => isListRequest(type)(request) && request.query.get('limit') === '1'
}

export function isWatchRequest(type: ResourceType): (request: ApiRequest) => boolean {
  return ({ path, query }) => path === collectionPath(type) && query.has('watch')
}

/** Answers with a Status object. */
export function status(code: number, reason = '', headers: Record<string, string> = {}): Answer {
  return json(code, statusObject(code, reason), headers)
}

export function statusObject(code: number, reason = ''): object {
  return { kind: 'Status', apiVersion: 'v1', code, reason, message: `the server says ${reason || code}` }
}

/** A 404 with the details of apimachinery's `NewNotFound`: they name what is missing. */
export function notFound({
  type: { group, plural: kind },
  name = '',
}: {
  type: ResourceType
  name?: string | undefined
}): Answer {
  return json(404, { ...statusObject(404, 'NotFound'), details: defined({ name, kind, group: group || undefined }) })
}

/** The answer for a path that no API has, such as that of a missing CustomResourceDefinition. */
export function pageNotFound(response: ServerResponse): void {
  response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' })
  response.end('404 page not found\n')
}

export function json(code: number, body: unknown, headers: Record<string, string> = {}): Answer {
  return (response) => {
    response.writeHead(code, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify(body))
  }
}

/** Ends a watch by an ERROR event. */
export function errorEvent(object: object): Answer {
  return (response) => void response.end(`${JSON.stringify({ type: 'ERROR', object })}\n`)
}

/** Never responds. */
export function hang(): void {}

/** Closes the connection without a response. */
export function reset(response: ServerResponse): void {
  response.destroy()
}

export function answerWith(code: number, body: unknown): Answer | undefined {
  return body === undefined ? undefined : json(code, body)
}

/** Begins a list, and closes the connection in the middle of it. */
export const brokenOff: Answer = (response) => {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.write('{"kind":"DataSourceList","items":[', () => response.destroy())
}
