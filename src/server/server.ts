/** The HTTPS server for API servers: paths, callers, limits, timeouts and rejections. */
import type { Server } from 'node:https'
import type { Socket } from 'node:net'
import { setImmediate as nextIteration } from 'node:timers/promises'
import type { TLSSocket } from 'node:tls'
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { RepeatLimit } from '../base/time/repeat-limit.ts'
import { type Webhook, webhookPath } from '../webhooks/define.ts'
import { INTERPRETER_PATH, type Interpreter } from '../webhooks/interpreter.ts'
import { type AdmissionDependencies, serveWebhook } from './admission.ts'
import { receiveBody } from './body.ts'
import { openByteBudget } from './byte-budget.ts'
import type { Serve } from './call.ts'
import { checkCallers } from './callers.ts'
import { watchConnections } from './connections.ts'
import { serveInterpreter } from './interpreter.ts'
import type { ServerLimits } from './limits.ts'
import { JSON_TYPE, type Problem, problemBody, RequestProblem } from './problem.ts'
import { ReceivedRequest } from './received-request.ts'
import { refuseConnection } from './refuse-connection.ts'
import { openRequestQueue } from './request-queue.ts'
import { MAX_SHOWN, openResponses } from './responses.ts'
import { isReviewPath, REVIEW_PREFIXES, serveUnknownPath } from './unknown-path.ts'
import { urlPath } from './url-path.ts'

export interface TlsMaterial {
  cert: string
  key: string
  /** The CA of client certificates. If it is set, callers of webhooks need a certificate of it. */
  clientCa?: string
}

export interface ServerOptions extends AdmissionDependencies {
  webhooks: readonly Webhook[]
  /** Serves Karmada's resource interpreter; absent if it is disabled. */
  interpreter?: Interpreter | undefined
  tls: TlsMaterial
  /** Accepted names of client certificates; if empty, every certificate of the client CA is accepted. */
  clientNames?: readonly string[]
  limits: ServerLimits
}

/** A running server and the settings that may change. */
export interface AdmissionServer {
  fastify: FastifyInstance<Server>
  /** Applies to new handshakes; open connections keep their certificate. */
  useCertificate(tls: TlsMaterial): void
  /** Makes every response close its connection, so that callers connect to another replica. */
  drain(): void
  /** Stops listening, answers pending requests until the timeout, then closes every connection. */
  close(withinMs: number): Promise<void>
}

/** The handler of one path. */
interface Endpoint {
  path: string
  /** The expected body, for error messages. */
  expects: string
  serve: Serve
}

/** Builds the server. `fastify.listen` starts it, `close` stops it. */
export function buildServer(options: ServerOptions): AdmissionServer {
  const { tls, clientNames, limits, log, metrics } = options
  const endpoints = buildEndpoints(options)
  // A load balancer that only connects does so every few seconds, and any client may.
  const refusals = new RepeatLimit()
  const server = fastify({
    https: {
      ...secureContext(tls),
      connectionsCheckingInterval: limits.connectionCheckMs,
      handshakeTimeout: limits.handshakeTimeoutMs,
      headersTimeout: limits.headersTimeoutMs,
      maxHeaderSize: limits.headerBytes,
      // Lodestone does not read the Host header, and Node's own error is not JSON.
      requireHostHeader: false,
    },
    logger: false,
    // API servers call webhooks with `?timeout=` and enforce it themselves, so queries are not parsed.
    routerOptions: { querystringParser: () => ({}) },
    connectionTimeout: limits.stalledTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    frameworkErrors: ({ message }, _request, reply) => responses.reject(reply, { status: 400, message }),
    clientErrorHandler(error: NodeJS.ErrnoException, socket: Socket) {
      const { message, code = '' } = error
      if (refusals.take(code, options.now())) log.warn({ reason: message, code }, 'connection refused')
      refuseConnection(error, socket)
    },
  })
  // After a failed handshake no response can be sent, and the socket would wait for TLS forever.
  server.server.prependListener('tlsClientError', (_error, socket) => socket.destroy())
  // A connection without a request yet is as useful to kube-apiserver as one between two requests. Node would close it as a stalled one.
  server.server.on('secureConnection', (socket) => socket.setTimeout(limits.keepAliveTimeoutMs))
  // Without a listener, Node responds without a body.
  server.server.on('checkExpectation', (_request, response) => {
    const body = problemBody(417, 'unsupported Expect header; only 100-continue is supported')
    response.writeHead(417, { 'content-type': JSON_TYPE, 'content-length': Buffer.byteLength(body) }).end(body)
  })

  const connections = watchConnections(server.server, limits.connections, () =>
    metrics.shed.labels('connections').inc(),
  )
  const budget = openByteBudget(limits.bytesInFlight)
  const callerRefusal = tls.clientCa === undefined ? () => undefined : checkCallers(clientNames)
  const queue = openRequestQueue(limits.inFlight)
  const responses = openResponses({ log, metrics, budget, connections, limits })
  metrics.observeServer(() => ({ inFlight: queue.length(), bytes: budget.used(), connections: connections.count() }))

  /** Returns the problem of a request by its headers, before its body is read. */
  function findProblem(request: FastifyRequest): Problem | undefined {
    const path = urlPath(request)
    const endpoint = endpoints.find((candidate) => candidate.path === path)
    if (!endpoint && !isReviewPath(path)) {
      const known = endpoints.map((candidate) => candidate.path).join(', ')
      return { status: 404, message: `path ${path.slice(0, MAX_SHOWN)} not found; webhooks are at ${known}` }
    }
    // Karmada sends no certificate to interpreters (karmada, pkg/resourceinterpreter/customized/webhook/customized.go).
    const refusal = path === INTERPRETER_PATH ? undefined : callerRefusal(request.raw.socket as TLSSocket)
    if (refusal !== undefined) return { status: 403, message: refusal }
    if (request.method === 'POST') return undefined
    const message = `method ${request.method} not allowed; use POST with ${endpoint?.expects ?? 'an AdmissionReview'}`
    return { status: 405, message, headers: { allow: 'POST' } }
  }

  server.addHook('onRequest', (request, reply, done) => {
    const { socket } = request.raw
    if (socket.timeout !== limits.stalledTimeoutMs) socket.setTimeout(limits.stalledTimeoutMs)
    const problem = findProblem(request)
    if (problem) responses.reject(reply, problem)
    else done()
  })
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('application/json', (_request, payload, done) =>
    receiveBody(payload, limits.bodyBytes, budget, done),
  )
  server.setErrorHandler((error: Error, _request, reply) => responses.reject(reply, toProblem(error)))
  for (const { path, serve } of endpoints) {
    server.post(path, (_request, reply) => queue.add(new ReceivedRequest(reply, serve, responses)))
  }
  for (const prefix of REVIEW_PREFIXES) {
    server.post(`${prefix}*`, (request, reply) =>
      queue.add(new ReceivedRequest(reply, serveUnknownPath(urlPath(request), options), responses)),
    )
  }

  return {
    fastify: server,
    useCertificate: (next) => server.server.setSecureContext(secureContext(next)),
    drain: responses.drain,
    async close(withinMs) {
      responses.drain()
      // A connection whose request was not read yet seems idle. The first iteration of the event loop reads it, the second answers it.
      const late = setTimeout(async () => {
        await nextIteration()
        await nextIteration()
        connections.destroyAll()
      }, withinMs)
      await nextIteration()
      await server.close()
      clearTimeout(late)
    },
  }
}

function buildEndpoints({ webhooks, interpreter, ...dependencies }: ServerOptions): Endpoint[] {
  const endpoints = webhooks.map((webhook) => ({
    path: webhookPath(webhook),
    expects: 'an AdmissionReview',
    serve: serveWebhook(webhook, dependencies),
  }))
  if (!interpreter) return endpoints
  const serve = serveInterpreter(interpreter, dependencies)
  return [...endpoints, { path: INTERPRETER_PATH, expects: 'a ResourceInterpreterContext', serve }]
}

/** TLS 1.2 and newer. kube-apiserver uses HTTP/1.1 for webhooks (pkg/util/webhook/client.go). */
function secureContext({ cert, key, clientCa }: TlsMaterial) {
  return {
    cert,
    key,
    minVersion: 'TLSv1.2' as const,
    ALPNProtocols: ['http/1.1'],
    // A caller without a certificate is rejected at its first request, with a message.
    ...(clientCa && { ca: clientCa, requestCert: true, rejectUnauthorized: false }),
  }
}

/** Returns the problem of an error of fastify or of `receiveBody`. */
function toProblem(error: Error & { code?: string; statusCode?: number }): Problem {
  if (error instanceof RequestProblem) return error
  const isMediaType = error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE'
  const message = isMediaType ? 'the content type must be application/json' : error.message
  return { status: error.statusCode ?? 500, message }
}
