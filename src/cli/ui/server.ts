/** The HTTP server of the page: the API below `/v1`, the files of the page, and the exchange of a link for a session. */
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { defined } from '../../base/json.ts'
import type { Clock } from '../../base/time/clock.ts'
import { UserError } from '../../base/user-error.ts'
import { JSON_TYPE, problemBody } from '../../server/problem.ts'
import { explainNamed } from '../explain/explain-named.ts'
import type { Context } from '../explain/target.ts'
import { treeData } from '../explain/tree.ts'
import { type Access, openAccess, type Rejection, SECURITY_HEADERS } from './access.ts'
import type { Asset } from './assets.ts'
import { type Freshness, sendEvents } from './events.ts'
import { LIST_NAMES, type ListName, pageOf } from './lists.ts'
import { locate } from './locate.ts'
import { QueryError, readEventsRequest, readPageRequest } from './read-query.ts'
import { readQuestion } from './read-question.ts'
import type { View } from './view.ts'

/** The API version of every answer. Within it, fields are added only. */
const UI_API_VERSION = 'ui.lodestone.dev/v1alpha1'

export interface PageServerInput {
  /** Of a hub, a member or a folder. */
  mode: 'hub' | 'member' | 'folder'
  /** Where the objects are: the address of the API server, or the folder. */
  origin: string
  view: View
  /** Returns the inputs of an explanation at this moment. */
  context: () => Context
  freshness: () => Freshness
  assets: ReadonlyMap<string, Asset>
  /** Further values of the header Host. */
  hosts: readonly string[]
  /** Called when a link was opened that was used before. `makeLink` returns a new one, and ends the one before. */
  onUsedLink: (makeLink: () => string) => void
  clock: Clock
}

export interface PageServer {
  fastify: FastifyInstance
  /** Listens on loopback and returns a link with a one-time token. */
  listen(port: number): Promise<string>
}

/** The page is for this machine only. */
export const LOOPBACK = '127.0.0.1'
const MAX_QUESTION_BYTES = 256 * 1024
/** A browser opens a few; each follows the view. */
const MAX_EVENT_READERS = 32
const MAX_CONNECTIONS = 200

/** Builds the server. `listen` starts it, `fastify.close` stops it. */
export function buildPageServer(input: PageServerInput): PageServer {
  const { view, assets } = input
  const server = fastify({
    logger: false,
    bodyLimit: MAX_QUESTION_BYTES,
    requestTimeout: 30_000,
    forceCloseConnections: true,
    // The query is read and checked by each path.
    routerOptions: { querystringParser: () => ({}), maxParamLength: 1024 },
  })
  server.server.maxConnections = MAX_CONNECTIONS
  let access: Access | undefined
  let link = () => ''

  server.addHook('onRequest', (request, reply, done) => {
    reply.headers(SECURITY_HEADERS)
    const rejection = rejectionOf(request)
    if (rejection) reject(reply, rejection)
    else done()
  })
  server.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => reject(reply, problemOf(error)))
  server.setNotFoundHandler((request, reply) => {
    if (request.method === 'GET' && !request.url.startsWith('/v1')) return sendAsset(reply, 'index.html')
    return reject(reply, { status: 404, message: `path ${pathOf(request).slice(0, 100)} not found; see /v1` })
  })

  function rejectionOf(request: FastifyRequest): Rejection | undefined {
    if (!access) return { status: 503, message: 'the server is starting' }
    if (pathOf(request) === '/open') return access.hostRejection(request.headers)
    return access.rejection(request.headers)
  }

  server.get('/open', (request, reply) => {
    const cookie = access?.redeem(queryOf(request).get('token') ?? '')
    if (cookie !== undefined) return reply.header('set-cookie', cookie).redirect('/', 303)
    input.onUsedLink(link)
    return reject(reply, { status: 403, message: 'this link was used, or has ended; the terminal has a new one' })
  })

  function sendAsset(reply: FastifyReply, name: string): FastifyReply {
    const asset = assets.get(name)
    if (!asset) return reject(reply, { status: 404, message: 'file not found' })
    return reply.header('cache-control', 'no-cache').type(asset.type).send(asset.content)
  }
  server.get('/assets/:name', (request, reply) => sendAsset(reply, (request.params as { name: string }).name))

  server.get('/v1', async (_request, reply) => {
    const { revision, lists } = await view.current()
    const totals = Object.fromEntries(LIST_NAMES.map((name) => [name, lists[name].length]))
    const { mode, origin } = input
    return answer(reply, 'Overview', { mode, origin, revision, totals, ...input.freshness() })
  })
  for (const name of LIST_NAMES) {
    server.get(`/v1/${name}`, async (request, reply) => {
      const wanted = readPageRequest(name, queryOf(request))
      const { revision, lists } = await view.current()
      return answer(reply, LIST_KINDS[name], { revision, offset: wanted.offset, ...pageOf(lists, name, wanted) })
    })
  }
  server.get('/v1/explain/:kind/:name', async (request, reply) => {
    const { kind, name } = request.params as { kind: string; name: string }
    const namespace = queryOf(request).get('namespace') ?? 'default'
    const { tree, problem } = await explainNamed({ kind, namespace, name }, input.context())
    if (!tree) return reject(reply, { status: 404, message: problem })
    return answer(reply, 'Explanation', { object: treeData(tree) })
  })
  server.post('/v1/locate', async (request, reply) => {
    const { question, problems = [] } = readQuestion(request.body)
    const result = question ? await locate(question, input.context()) : { problems }
    if ('problems' in result) return reject(reply, { status: 422, message: result.problems.slice(0, 20).join('; ') })
    return answer(reply, 'Location', result.answer)
  })
  let readers = 0
  server.get('/v1/events', (request, reply) => {
    const wanted = readEventsRequest(queryOf(request))
    if (readers >= MAX_EVENT_READERS) {
      reject(reply, { status: 503, message: `${MAX_EVENT_READERS} readers follow the events; close one` })
      return
    }
    readers += 1
    reply.raw.on('close', () => {
      readers -= 1
    })
    reply.hijack()
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) reply.raw.setHeader(name, value)
    sendEvents(reply.raw, { ...wanted, view, freshness: input.freshness, clock: input.clock })
  })

  return {
    fastify: server,
    async listen(port) {
      await server.listen({ host: LOOPBACK, port })
      const address = server.server.address()
      const actual = typeof address === 'object' && address ? address.port : port
      const opened = openAccess(actual, input.hosts)
      access = opened
      link = () => `http://${LOOPBACK}:${actual}/open?token=${opened.issueToken()}`
      return link()
    },
  }
}

function answer(reply: FastifyReply, kind: string, fields: object): FastifyReply {
  return reply
    .header('cache-control', 'no-store')
    .type(JSON_TYPE)
    .send(`${JSON.stringify({ apiVersion: UI_API_VERSION, kind, ...defined(fields as Record<string, unknown>) })}\n`)
}

function reject(reply: FastifyReply, { status, message }: Rejection): FastifyReply {
  return reply.code(status).header('cache-control', 'no-store').type(JSON_TYPE).send(problemBody(status, message))
}

function problemOf(error: Error & { statusCode?: number }): Rejection {
  if (error instanceof QueryError || error instanceof UserError) return { status: 400, message: error.message }
  return { status: error.statusCode ?? 500, message: error.message }
}

function pathOf({ url }: FastifyRequest): string {
  return url.split('?', 1)[0] ?? ''
}

function queryOf({ url }: FastifyRequest): URLSearchParams {
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
  sources: 'SourceList',
  systems: 'SystemList',
  clusters: 'ClusterList',
}
