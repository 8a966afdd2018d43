/** The HTTPS server for API servers: paths, limits, timeouts and rejections. */
import type { Server } from 'node:https'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { pathOf, type Webhook } from '../webhooks/define.ts'
import { INTERPRETER_PATH, type Interpreter } from '../webhooks/interpreter.ts'
import { type AdmissionDependencies, serveWebhook } from './admission.ts'
import { type ReceivedBody, receiveBody } from './body.ts'
import { type Holding, openByteBudget } from './byte-budget.ts'
import type { Answer } from './call.ts'
import { checkCallers } from './callers.ts'
import { refuseConnection } from './client-error.ts'
import { watchConnections } from './connections.ts'
import { serveInterpreter } from './interpreter.ts'
import type { ServerLimits } from './limits.ts'
import { BusyProblem, JSON_TYPE, problemBody, RequestProblem } from './problem.ts'
import { openRequestQueue } from './request-queue.ts'

export interface TlsMaterial {
  cert: string
  key: string
  /** The CA of client certificates. If it is set, callers of webhooks need a certificate of it. */
  clientCa?: string
}

export interface ServerOptions extends AdmissionDependencies {
  webhooks: readonly Webhook[]
  /** Serves Karmada's resource interpreter; absent if it is disabled. */
  interpreter?: Interpreter
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
  serve(body: string): Answer
}

interface Refusal {
  status: number
  message: string
  headers?: Record<string, string>
}

/** In characters: the maximum length of a part of a request in a message. */
const MAX_SHOWN = 200

/** Builds the server. `fastify.listen` starts it, `close` stops it. */
export function buildServer(options: ServerOptions): AdmissionServer {
  const { tls, clientNames, limits, log, metrics } = options
  const endpoints = endpointsOf(options)
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
    frameworkErrors: (error, request, reply) => void refuse(request, reply, { status: 400, message: error.message }),
    clientErrorHandler(error: NodeJS.ErrnoException, socket: Socket) {
      log.warn({ reason: error.message, code: error.code }, 'connection refused')
      refuseConnection(error, socket)
    },
  })
  // After a failed handshake no response can be sent, and the socket would wait for TLS forever.
  server.server.prependListener('tlsClientError', (_error, socket) => socket.destroy())
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
  let draining = false
  metrics.observeServer(() => ({ inFlight: queue.length(), bytes: budget.used(), connections: connections.count() }))

  /** Rejects a request by its headers, before its body is read. */
  function refusalOf(request: FastifyRequest): Refusal | undefined {
    const path = request.url.split('?', 1)[0] ?? ''
    const endpoint = endpoints.find((candidate) => candidate.path === path)
    if (!endpoint) {
      const known = endpoints.map((candidate) => candidate.path).join(', ')
      return { status: 404, message: `path ${path.slice(0, MAX_SHOWN)} not found; webhooks are at ${known}` }
    }
    // Karmada sends no certificate to interpreters (karmada, pkg/resourceinterpreter/customized/webhook/customized.go).
    const refusal = path === INTERPRETER_PATH ? undefined : callerRefusal(request.raw.socket as TLSSocket)
    if (refusal !== undefined) return { status: 403, message: refusal }
    if (request.method === 'POST') return undefined
    const message = `method ${request.method} not allowed; use POST with ${endpoint.expects}`
    return { status: 405, message, headers: { allow: 'POST' } }
  }

  function refuse(request: FastifyRequest, reply: FastifyReply, { status, message, headers }: Refusal): FastifyReply {
    log.warn({ path: request.url.slice(0, MAX_SHOWN), status, reason: message }, 'request refused')
    return send(reply, { status, body: problemBody(status, message), ...(headers && { headers }) })
  }

  /** Sends a decision, if the budget of bytes has room for it. The budget drops older and larger holdings first. */
  function sendDecision(request: FastifyRequest, reply: FastifyReply, answer: Answer): void {
    const length = Buffer.byteLength(answer.body)
    let isBegun = false
    const holding = budget.open(() => isBegun && reply.raw.destroy())
    if (holding.grow(length)) {
      isBegun = true
      send(reply, answer, { length, holding })
    } else {
      const remedy = length > limits.bytesInFlight ? 'raise server.maxBytesInFlight' : 'retry'
      shed(request, reply, 'bytes', `no room for an answer of ${length} bytes; ${remedy}`)
    }
  }

  /**
   * Writes the response directly. Serialization and hooks of fastify are not needed and would cost as much as the decision.
   *
   * @param counted the bytes of a decision; those of other responses do not count, since they are short
   */
  function send(
    reply: FastifyReply,
    { status, body, headers }: Answer & { headers?: Record<string, string> },
    counted?: { length: number; holding: Holding },
  ): FastifyReply {
    reply.hijack()
    const { raw } = reply
    const length = counted?.length ?? Buffer.byteLength(body)
    // The bytes of a response count until the caller has read it.
    if (counted) raw.once('close', counted.holding.release)
    if (draining) raw.setHeader('connection', 'close')
    raw.writeHead(status, { 'content-type': JSON_TYPE, 'content-length': length, ...headers })
    // Nearly every response is ASCII, for which no encoding is needed.
    raw.end(body, length === body.length ? 'latin1' : 'utf8')
    if (status === 200) connections.answered(reply.request.raw.socket)
    return reply
  }

  server.addHook('onRequest', (request, reply, done) => {
    const refusal = refusalOf(request)
    if (refusal) refuse(request, reply, refusal)
    else done()
  })
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('application/json', (_request, payload, done) =>
    receiveBody(payload, limits.bodyBytes, budget, done),
  )
  server.setErrorHandler((error: Error & { statusCode?: number }, request, reply) => {
    if (error instanceof BusyProblem) return shed(request, reply, 'bytes', error.message)
    const status = error instanceof RequestProblem ? error.status : (error.statusCode ?? 500)
    return refuse(request, reply, { status, message: messageFor(error) })
  })

  /** Rejects with Retry-After. kube-apiserver retries within the timeout of its call. */
  function shed(request: FastifyRequest, reply: FastifyReply, reason: 'bytes' | 'in-flight', message: string) {
    metrics.shed.labels(reason).inc()
    // To close the connection frees the bytes of the request.
    const headers = { 'retry-after': '1', ...(reason === 'bytes' && { connection: 'close' }) }
    return refuse(request, reply, { status: 503, message, headers })
  }

  for (const { path, serve } of endpoints) {
    server.post(path, (request, reply) => {
      queue.take({
        body: request.body as ReceivedBody | undefined,
        serve,
        send: (answer) => sendDecision(request, reply, answer),
        shed: (reason, message) => void shed(request, reply, reason, message),
        fail(error) {
          log.error({ path, err: error }, 'request failed')
          reply.raw.destroy()
        },
      })
    })
  }

  return {
    fastify: server,
    useCertificate: (next) => server.server.setSecureContext(secureContext(next)),
    drain() {
      draining = true
    },
    async close(withinMs) {
      draining = true
      const late = setTimeout(() => connections.destroyAll(), withinMs)
      await server.close()
      clearTimeout(late)
    },
  }
}

function endpointsOf({ webhooks, interpreter, ...dependencies }: ServerOptions): Endpoint[] {
  const endpoints = webhooks.map((webhook) => ({
    path: pathOf(webhook),
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

function messageFor(error: Error & { code?: string }): string {
  return error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE' ? 'the content type must be application/json' : error.message
}
