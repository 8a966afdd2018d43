/** A small API server over real HTTP that stores objects as Kubernetes does. Tests can replace its responses with faults. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, type ServerOptions } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { definitionName, definitionOf, definitions } from '../../api/definition.ts'
import { collectionPath, type K8sObject, type ResourceType } from '../../api/meta.ts'
import { namespaces } from '../../api/namespace.ts'
import { applyMergePatch } from '../../base/merge-patch.ts'
import { ApiObjects, type LoggedEvent } from './api-objects.fake.ts'
import {
  type Answer,
  type ApiRequest,
  answerWith,
  isListRequest,
  isVersionRequest,
  isWatchRequest,
  json,
  notFound,
  pageNotFound,
  requestedView,
  status,
  whole,
} from './api-responses.fake.ts'
import { type OpenWatch, openWatch } from './api-watch.fake.ts'

const DEFINITIONS = `${collectionPath(definitions)}/`

interface Target {
  collection: string
  type: ResourceType
  namespace?: string | undefined
  name?: string | undefined
  subresource?: string | undefined
}

type StatusObject = K8sObject & { status?: unknown }

/** Starts a server until the end of the test. */
export async function startFakeApiServer(types: readonly ResourceType[], tls?: ServerOptions): Promise<FakeApiServer> {
  const server = await new FakeApiServer(types, tls).listen()
  onTestFinished(() => server.close())
  return server
}

export class FakeApiServer {
  readonly requests: ApiRequest[] = []
  readonly objects = new ApiObjects()
  url = ''
  /** When set, requests with another bearer token get HTTP 401. */
  token: string | undefined
  /** What TokenRequests get, for at most `maxTokenSeconds`, as with --service-account-max-token-expiration. */
  readonly grantedToken = 'granted-token'
  maxTokenSeconds = Number.POSITIVE_INFINITY
  /** Requests for which it is false get HTTP 403, whether the server has the kind or not. Discovery is for all. */
  permits: (request: ApiRequest) => boolean = () => true
  readonly #types: readonly ResourceType[]
  readonly #unserved = new Set<string>()
  readonly #terminating = new Set<string>()
  readonly #missingNamespaces = new Set<string>()
  readonly #watches = new Map<OpenWatch, string>()
  readonly #faults: { match: (request: ApiRequest) => boolean; answer: Answer }[] = []
  readonly #sockets = new Set<Socket>()
  readonly #scheme: 'http' | 'https'
  readonly #server: Server

  constructor(types: readonly ResourceType[], tls?: ServerOptions) {
    this.#types = types
    const handle = (incoming: IncomingMessage, response: ServerResponse): void => void this.#handle(incoming, response)
    this.#scheme = tls === undefined ? 'http' : 'https'
    this.#server = tls === undefined ? createServer(handle) : createTlsServer(tls, handle)
    this.#server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
      socket.on('error', () => {})
    })
  }

  async listen(port = 0): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(port, '127.0.0.1', resolve))
    this.url = `${this.#scheme}://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
    return this
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  get openSockets(): number {
    return this.#sockets.size
  }

  /** The open watches of a kind, oldest first. */
  watches(type: ResourceType): OpenWatch[] {
    return [...this.#watches].filter(([, collection]) => collection === collectionPath(type)).map(([watch]) => watch)
  }

  /** The requests for lists, without those for the present resource version alone. */
  lists(type: ResourceType): ApiRequest[] {
    return this.requests.filter((request) => isListRequest(type)(request) && !isVersionRequest(type)(request))
  }

  watchRequests(type: ResourceType): ApiRequest[] {
    return this.requests.filter((request) => isWatchRequest(type)(request))
  }

  /** Sends `answers` to the next requests for which `match` is true, one each, instead of the normal responses. */
  misbehave(match: (request: ApiRequest) => boolean, ...answers: Answer[]): void {
    this.#faults.push(...answers.map((answer) => ({ match, answer })))
  }

  serve(type: ResourceType, served: boolean): void {
    if (served) this.#unserved.delete(collectionPath(type))
    else this.#unserved.add(collectionPath(type))
    this.#terminating.delete(definitionName(type))
  }

  /** Begins the deletion of a CRD, as a client does. Its objects stay until the test removes them. */
  terminate(type: ResourceType): void {
    this.#terminating.add(definitionName(type))
  }

  /** Removes a namespace: later creations in it fail. */
  removeNamespace(name: string): void {
    this.#missingNamespaces.add(name)
  }

  /** Writes an object as another client. */
  put(type: ResourceType, object: K8sObject): K8sObject {
    return this.#announce(type, this.objects.put(type, object))
  }

  remove(type: ResourceType, namespace: string | undefined, name: string): void {
    this.#announce(type, this.objects.remove(type, namespace, name))
  }

  #announce(type: ResourceType, event: LoggedEvent): K8sObject {
    const { namespace } = event.object.metadata
    const watches = this.watches(type).filter((watch) => watch.namespace === undefined || watch.namespace === namespace)
    for (const watch of watches) watch.send(event.type, event.object)
    return event.object
  }

  async #handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(incoming.url ?? '/', 'http://host')
    const { method = 'GET', headers } = incoming
    const request: ApiRequest = { method, path: url.pathname, query: url.searchParams, headers }
    this.requests.push(request)
    let text = ''
    for await (const chunk of incoming) text += chunk
    const index = this.#faults.findIndex(({ match }) => match(request))
    const [planned] = index < 0 ? [] : this.#faults.splice(index, 1)
    const answer = planned?.answer ?? this.#answer(request, text)
    answer(response)
  }

  #answer(request: ApiRequest, text: string): Answer {
    const { method, path, query, headers } = request
    if (this.token !== undefined && headers.authorization !== `Bearer ${this.token}`) return status(401, 'Unauthorized')
    if (path === '/version') return json(200, { gitVersion: 'v1.35.4' })
    if (this.#servesGroup(path)) return json(200, { kind: 'APIGroup' })
    if (/^\/(api|apis\/[^/]+)\/[^/]+$/.test(path)) return this.#discovery(path)
    if (!this.permits(request)) return status(403, 'Forbidden')
    if (path.startsWith(DEFINITIONS)) return this.#definition(path.slice(DEFINITIONS.length))
    const target = this.#target(path)
    if (target === undefined || this.#unserved.has(target.collection)) return pageNotFound
    if (method === 'POST' && target.subresource === 'token') return this.#grantToken(target, JSON.parse(text))
    if (method === 'POST') return this.#create(target, JSON.parse(text), query.get('dryRun') === 'All')
    if (method === 'PUT') return this.#update(target, JSON.parse(text))
    if (method === 'PATCH') return this.#patch(target, JSON.parse(text), headers['content-type'])
    if (method === 'DELETE') return this.#delete(target, JSON.parse(text))
    if (target.name !== undefined) return answerWith(200, this.#find(target)) ?? notFound(target)
    if (query.get('watch') === 'true') return this.#watch(target, request)
    const page = this.objects.page(target, Number(query.get('limit') ?? 0), query.get('continue'))
    if (page === undefined) return status(410, 'Expired')
    const view = requestedView(headers)
    return json(200, {
      kind: view === whole ? `${target.type.kind}List` : 'PartialObjectMetadataList',
      ...page,
      items: page.items.map(view),
    })
  }

  #grantToken(target: Target, { spec }: { spec: { expirationSeconds: number } }): Answer {
    if (this.#find(target) === undefined) return notFound(target)
    const expirationSeconds = Math.min(spec.expirationSeconds, this.maxTokenSeconds)
    const expirationTimestamp = new Date(expirationSeconds * 1000).toISOString()
    return json(201, { spec: { expirationSeconds }, status: { token: this.grantedToken, expirationTimestamp } })
  }

  /** Answers with the CRD of a kind. Every kind has one. */
  #definition(name: string): Answer {
    const type = this.#types.find((type) => definitionName(type) === name)
    if (!type || this.#unserved.has(collectionPath(type))) return notFound({ type: definitions, name })
    const deletionTimestamp = this.#terminating.has(name) ? '2026-01-01T00:00:00Z' : undefined
    const status = { conditions: [{ type: 'Established', status: 'True' }] }
    return json(200, { ...definitionOf(type), metadata: { name, deletionTimestamp }, status })
  }

  #servesGroup(path: string): boolean {
    const [, group] = /^\/apis\/([^/]+)$/.exec(path) ?? []
    return this.#types.some((type) => type.group === group && !this.#unserved.has(collectionPath(type)))
  }

  /** The kinds of the group and version with this path. */
  #discovery(path: string): Answer {
    const resources = this.#types
      .filter((type) => collectionPath(type) === `${path}/${type.plural}` && !this.#unserved.has(collectionPath(type)))
      .map(({ plural }) => ({ name: plural }))
    return resources.length > 0 ? json(200, { kind: 'APIResourceList', resources }) : pageNotFound
  }

  #target(path: string): Target | undefined {
    for (const type of this.#types) {
      const collection = collectionPath(type)
      const root = collection.slice(0, collection.lastIndexOf('/') + 1)
      if (!path.startsWith(root)) continue
      const parts = path.slice(root.length).split('/').map(decodeURIComponent)
      const namespace = parts[0] === 'namespaces' && parts.length > 2 ? parts.splice(0, 2)[1] : undefined
      const [plural, name, subresource] = parts
      if (plural === type.plural) return { collection, type, namespace, name, subresource }
    }
    return undefined
  }

  #find({ collection, namespace, name }: Target): K8sObject | undefined {
    return this.objects.get(collection, namespace, name ?? '')
  }

  #create(target: Target, given: K8sObject, isDryRun: boolean): Answer {
    const { namespace = '' } = target
    if (this.#missingNamespaces.has(namespace)) return notFound({ type: namespaces, name: namespace })
    const { name = `${given.metadata.generateName}${this.objects.version}` } = given.metadata
    const object = { ...given, metadata: { ...given.metadata, name } }
    const exists = this.#find({ ...target, name: object.metadata.name }) !== undefined
    if (exists) return status(409, 'AlreadyExists')
    return json(201, isDryRun ? object : this.put(target.type, object))
  }

  #update(target: Target, object: K8sObject): Answer {
    const before = this.#find(target)
    if (before === undefined) return notFound(target)
    if (before.metadata.resourceVersion !== object.metadata.resourceVersion) return status(409, 'Conflict')
    return this.#store(target, before, object)
  }

  #patch(target: Target, patch: { metadata?: { resourceVersion?: string } }, contentType?: string): Answer {
    if (contentType !== 'application/merge-patch+json') return status(415, 'UnsupportedMediaType')
    const before: StatusObject | undefined = this.#find(target)
    if (before === undefined) return notFound(target)
    const version = before.metadata.resourceVersion
    if ((patch.metadata?.resourceVersion ?? version) !== version) return status(409, 'Conflict')
    const after = applyMergePatch(before, patch) as StatusObject
    const patched =
      target.subresource === 'status' ? { ...before, status: after.status } : { ...after, status: before.status }
    return this.#store(target, before, patched)
  }

  #delete(target: Target, { preconditions }: { preconditions?: { uid?: string; resourceVersion?: string } }): Answer {
    const object = this.#find(target)
    if (object === undefined) return notFound(target)
    const { name = '', finalizers, uid, resourceVersion } = object.metadata
    const expected = { uid, resourceVersion, ...preconditions }
    if (expected.uid !== uid || expected.resourceVersion !== resourceVersion) return status(409, 'Conflict')
    if (finalizers?.length) {
      const deletionTimestamp = object.metadata.deletionTimestamp ?? '2026-01-01T00:00:00Z'
      return this.#store(target, object, { ...object, metadata: { ...object.metadata, deletionTimestamp } })
    }
    this.remove(target.type, target.namespace, name)
    return json(200, { kind: 'Status', apiVersion: 'v1', status: 'Success' })
  }

  /** Writes a changed object. A deleted object is removed with its last finalizer. */
  #store({ type, namespace, name = '' }: Target, before: K8sObject, after: K8sObject): Answer {
    if (JSON.stringify(before) === JSON.stringify(after)) return json(200, before)
    const stored = this.put(type, after)
    const { deletionTimestamp, finalizers } = stored.metadata
    if (deletionTimestamp && !finalizers?.length) this.remove(type, namespace, name)
    return json(200, stored)
  }

  #watch({ collection, namespace }: Target, { query, headers }: ApiRequest): Answer {
    const missed = this.objects.since({ collection, namespace }, Number(query.get('resourceVersion')))
    if (missed === undefined) return status(410, 'Expired')
    return (response) => {
      const watch = openWatch(query, response, requestedView(headers), () => this.objects.version, namespace)
      this.#watches.set(watch, collection)
      response.on('close', () => this.#watches.delete(watch))
      for (const event of missed) watch.send(event.type, event.object)
    }
  }
}
