/** The HTTP server of the page: the API below `/v1`, and the files of the page. */
import type { Server as TlsServer } from 'node:tls'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { ResourceType } from '../../api/meta.ts'
import { defined } from '../../base/json.ts'
import type { Clock } from '../../base/time/clock.ts'
import { UserError } from '../../base/user-error.ts'
import { watchConnections } from '../../server/connections.ts'
import { urlPath } from '../../server/url-path.ts'
import { ApiError } from '../../store/cluster/api-error.ts'
import type { ServingCertificates } from '../../tls/source.ts'
import type { Context } from '../explain/target.ts'
import type { Access } from './access/access.ts'
import { SECURITY_HEADERS } from './access/hosts.ts'
import { checkRejection, explainFor, historyRejection, locateFor, serverRejection } from './access/permitted.ts'
import { type Rejection, ReviewError, type Viewer } from './access/viewer.ts'
import { visibleLists, visibleRows } from './access/visible.ts'
import type { Asset } from './assets.ts'
import { type Freshness, sendEvents } from './events.ts'
import { Followers } from './followers.ts'
import type { History } from './history.ts'
import { LIST_NAMES, type ListName, selectPage } from './lists.ts'
import type { CheckResult } from './questions/check.ts'
import type { Asker } from './questions/one-at-a-time.ts'
import { MAX_MANIFEST_BYTES } from './questions/question-files.ts'
import { readLocate } from './questions/read-locate.ts'
import type { WhatIfResult } from './questions/what-if.ts'
import { QueryError, readEventsRequest, readNamespace, readPageRequest } from './read-query.ts'
import { sendAnswer, sendProblems, sendRejection } from './replies.ts'
import type { ServerReport } from './server-report.ts'
import type { View } from './view.ts'

export interface PageServerInput {
  /** Of a hub, a member or a folder. */
  mode: 'hub' | 'member' | 'folder'
  /** Where the objects are: the address of the API server, or the folder. */
  origin: string
  view: View
  access: Access
  /** Returns the inputs of an explanation at this moment. */
  context: () => Context
  /** The kinds that the page caches. */
  cachedKinds: () => readonly ResourceType[]
  /** Whether the API server has the kind. */
  isServed: (kind: ResourceType) => boolean
  freshness: () => Freshness
  /** A sentence about what is not shown. */
  notice: () => string | undefined
  /** Reports the installation on the API server. */
  serverReport: () => Promise<ServerReport>
  /** Reads the Events about placements, of a namespace or of all. */
  history: (namespace: string | undefined) => Promise<History>
  /** Checks the manifests in a body against the fleet. */
  check: (body: unknown, asker: Asker) => Promise<CheckResult>
  /** Answers what happens to workloads under the suppositions in a body. */
  whatIf: (body: unknown, asker: Asker) => Promise<WhatIfResult>
  assets: ReadonlyMap<string, Asset>
  /** The certificate with which the server serves HTTPS; HTTP without one. */
  certificate?: ServingCertificates | undefined
  clock: Clock
}

export interface PageServer {
  fastify: FastifyInstance
  /** Listens, and returns the port. */
  listen(address: { host: string; port: number }): Promise<number>
  /** Serves another certificate from now on. */
  useCertificate(certificate: ServingCertificates): void
}

const MAX_QUESTION_BYTES = 256 * 1024
const MAX_CONNECTIONS = 1_000
const HANDSHAKE_TIMEOUT_MS = 10_000
/** The probe of the kubelet, which names a pod by its address. */
const HEALTH_PATH = '/livez'
const ASSET_PATH = '/assets/:name'

/** Builds the server. `listen` starts it, `fastify.close` stops it. */
export function buildPageServer(input: PageServerInput): PageServer {
  const { view, assets, access, isServed, certificate } = input
  const readers = new WeakMap<FastifyRequest, Viewer>()
  const server: FastifyInstance = fastify({
    ...(certificate && { https: { ...secureContext(certificate), handshakeTimeout: HANDSHAKE_TIMEOUT_MS } }),
    logger: false,
    bodyLimit: MAX_QUESTION_BYTES,
    requestTimeout: 30_000,
    forceCloseConnections: true,
    // The query is read and checked by each path.
    routerOptions: { querystringParser: () => ({}), maxParamLength: 1024 },
  })
  // Clients that only connect must displace neither readers nor the probe of the kubelet.
  const connections = watchConnections(server.server, MAX_CONNECTIONS, () => undefined)
  server.addHook('onResponse', async ({ raw }) => connections.answered(raw.socket))

  server.addHook('onRequest', async (request, reply) => {
    reply.headers(SECURITY_HEADERS)
    // Undefined for a path without a route: the answer is the page, or a problem.
    const route = request.routeOptions.url
    if (route === HEALTH_PATH) return undefined
    const isPublicFile = access.hasPublicFiles && (route === undefined || route === ASSET_PATH)
    // A reader may open a view by a link in a chat. Then the page, which has no data, reads the API itself.
    const wrongHost = access.hostRejection(request.headers, isPublicFile && request.method === 'GET')
    if (wrongHost) return sendRejection(reply, wrongHost)
    if (access.publicPaths.has(route ?? '') || isPublicFile) return undefined
    const { viewer, rejection } = await access.identify(request.headers)
    if (rejection) return sendRejection(reply.headers(access.challenge), rejection)
    readers.set(request, viewer)
    return undefined
  })
  const viewerOf = (request: FastifyRequest): Viewer => {
    const viewer = readers.get(request)
    if (!viewer) throw new Error(`no reader of ${urlPath(request)}`)
    return viewer
  }
  server.setErrorHandler((error: Error & { statusCode?: number }, request, reply) =>
    sendRejection(reply, toRejection(error, request.routeOptions.bodyLimit)),
  )
  server.setNotFoundHandler((request, reply) => {
    if (['GET', 'HEAD'].includes(request.method) && !request.url.startsWith('/v1'))
      return sendAsset(reply, 'index.html')
    return sendRejection(reply, { status: 404, message: `path ${urlPath(request).slice(0, 100)} not found; see /v1` })
  })

  access.addRoutes(server)
  server.get(HEALTH_PATH, (_request, reply) => reply.send('ok\n'))

  function sendAsset(reply: FastifyReply, name: string): FastifyReply {
    const asset = assets.get(name)
    if (!asset) return sendRejection(reply, { status: 404, message: 'file not found' })
    return reply.header('cache-control', 'no-cache').type(asset.type).send(asset.content)
  }
  server.get(ASSET_PATH, (request, reply) => sendAsset(reply, (request.params as { name: string }).name))

  server.get('/v1', async (request, reply) => {
    const viewer = viewerOf(request)
    const { revision, lists: all } = await view.current()
    const lists = await visibleLists(LIST_NAMES, { lists: all, viewer, isServed })
    const totals = Object.fromEntries(LIST_NAMES.map((name) => [name, lists[name].length]))
    const { mode, origin } = input
    const { user, namespace } = viewer
    const place = { mode, origin, user, namespace, notice: input.notice() }
    return sendAnswer(reply, 'Overview', { ...place, revision, totals, ...input.freshness() })
  })
  for (const name of LIST_NAMES) {
    server.get(`/v1/${name}`, async (request, reply) => {
      const wanted = readPageRequest(name, queryParameters(request))
      const { revision, lists } = await view.current()
      const { namespace } = wanted
      const visible = await visibleRows(name, { lists, viewer: viewerOf(request), isServed, namespace })
      if (visible.rejection) return sendRejection(reply, visible.rejection)
      const { rows, notice } = visible
      const page = selectPage({ ...lists, [name]: rows }, name, wanted)
      return sendAnswer(reply, LIST_KINDS[name], { revision, notice, offset: wanted.offset, ...page })
    })
  }
  server.get('/v1/server', async (request, reply) => {
    const rejection = await serverRejection(viewerOf(request))
    return rejection ? sendRejection(reply, rejection) : sendAnswer(reply, 'Server', await input.serverReport())
  })
  server.get('/v1/history', async (request, reply) => {
    const viewer = viewerOf(request)
    const namespace = readNamespace(queryParameters(request)) ?? viewer.namespace
    const rejection = await historyRejection(viewer, namespace)
    return rejection ? sendRejection(reply, rejection) : sendAnswer(reply, 'History', await input.history(namespace))
  })
  server.get('/v1/explain/:kind/:name', async (request, reply) => {
    const { kind, name } = request.params as { kind: string; name: string }
    const namespace = queryParameters(request).get('namespace') ?? 'default'
    const { object, rejection } = await explainFor(viewerOf(request), { kind, namespace, name }, input.context())
    return rejection ? sendRejection(reply, rejection) : sendAnswer(reply, 'Explanation', { object })
  })
  server.post('/v1/locate', async (request, reply) => {
    const { question, problems } = readLocate(request.body)
    if (problems) return sendRejection(reply, { status: 422, message: problems.slice(0, 20).join('; ') })
    const { answer, rejection } = await locateFor(viewerOf(request), question, input.context())
    return rejection ? sendRejection(reply, rejection) : sendAnswer(reply, 'Location', answer)
  })
  server.post('/v1/check', { bodyLimit: MAX_MANIFEST_BYTES }, async (request, reply) => {
    const viewer = viewerOf(request)
    const rejection = await checkRejection(viewer, input.cachedKinds().filter(isServed))
    if (rejection) return sendRejection(reply, rejection)
    const { answer, problems } = await input.check(request.body, askerOf(viewer, reply))
    if (problems) return sendProblems(reply, problems)
    return sendAnswer(reply, 'Check', answer)
  })
  server.post('/v1/what-if', { bodyLimit: MAX_MANIFEST_BYTES }, async (request, reply) => {
    const viewer = viewerOf(request)
    const rejection = await checkRejection(viewer, input.cachedKinds().filter(isServed))
    if (rejection) return sendRejection(reply, rejection)
    const { answer, table, problems } = await input.whatIf(request.body, askerOf(viewer, reply))
    if (problems) return sendProblems(reply, problems)
    return answer ? sendAnswer(reply, 'WhatIf', answer) : sendAnswer(reply, 'WhatIfTable', table)
  })
  const followers = new Followers()
  // An answer to HEAD would have no end.
  server.get('/v1/events', { exposeHeadRoute: false }, async (request, reply) => {
    const wanted = readEventsRequest(queryParameters(request))
    const viewer = viewerOf(request)
    const rejection = followers.rejection(viewer)
    if (rejection) return sendRejection(reply, rejection)
    reply.hijack()
    // The reader may have left while the API server was asked about it. Then `close` was emitted before.
    if (reply.raw.destroyed) return reply
    reply.raw.on('close', followers.add(viewer))
    connections.answered(request.raw.socket)
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) reply.raw.setHeader(name, value)
    sendEvents(reply.raw, {
      ...wanted,
      view,
      isServed,
      identify: async () => (await access.identify(request.headers)).viewer,
      freshness: input.freshness,
      clock: input.clock,
    })
    return reply
  })

  return {
    fastify: server,
    async listen({ host, port }) {
      await server.listen({ host, port })
      const address = server.server.address()
      return typeof address === 'object' && address ? address.port : port
    },
    useCertificate(next) {
      if (certificate) (server.server as unknown as TlsServer).setSecureContext(secureContext(next))
    },
  }
}

function secureContext({ certPem, keyPem }: ServingCertificates) {
  return { cert: certPem, key: keyPem, minVersion: 'TLSv1.2' as const }
}

/** A reader leaves when its connection is closed. */
function askerOf({ user }: Viewer, { raw }: FastifyReply): Asker {
  const left = new AbortController()
  const abort = () => left.abort()
  // The reader may have left while the API server was asked about it. Then `close` was emitted before.
  if (raw.destroyed) abort()
  else raw.once('close', abort)
  return { ...defined({ user }), left: left.signal }
}

function toRejection(error: Error & { statusCode?: number }, bodyLimit: number): Rejection {
  if (error.statusCode === 413)
    return { status: 413, message: `the body has more than ${bodyLimit} bytes; send less at once` }
  if (error instanceof QueryError || error instanceof UserError) return { status: 400, message: error.message }
  if (error instanceof ApiError) return { status: error.status === 403 ? 403 : 502, message: error.message }
  if (error instanceof ReviewError) return { status: 503, message: error.message }
  return { status: error.statusCode ?? 500, message: error.message }
}

function queryParameters({ url }: FastifyRequest): URLSearchParams {
  const start = url.indexOf('?')
  return new URLSearchParams(start === -1 ? '' : url.slice(start))
}

/** The kind of each answer. */
const LIST_KINDS: Readonly<Record<ListName, string>> = {
  waiting: 'WaitingList',
  workloads: 'WorkloadList',
  claims: 'ClaimList',
  holds: 'HoldList',
  volumes: 'VolumeList',
  replicas: 'ReplicaList',
  moves: 'MoveList',
  sources: 'SourceList',
  systems: 'SystemList',
  clusters: 'ClusterList',
}
