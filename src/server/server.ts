/** The HTTPS server that the API server calls: paths, limits, timeouts and clear refusals. It does not listen by itself. */
import { Buffer } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Server } from 'node:https'
import type { Socket } from 'node:net'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { pathOf, type Webhook } from '../webhooks/define.ts'
import { INTERPRETER_PATH, type Interpreter } from '../webhooks/interpreter.ts'
import { type AdmissionDependencies, serveWebhook } from './admission.ts'
import { readBody } from './body.ts'
import type { Answer } from './call.ts'
import { serveInterpreter } from './interpreter.ts'
import { problemBody, RequestProblem } from './problem.ts'
import { openTurns } from './turns.ts'

export interface ServerLimits {
  /** Largest body in bytes; object, old object and envelope of the largest object that etcd takes fit in 7 MiB. */
  bodyBytes: number
  /** Requests served at once before callers are told to come back. */
  inFlight: number
  headersTimeoutMs: number
  requestTimeoutMs: number
  /** How often the two timeouts above are looked at. */
  connectionCheckMs: number
  /** Longer than the API server's 90 s, so that it is never us who close an idle connection under a request. */
  keepAliveTimeoutMs: number
}

export const DEFAULT_LIMITS: ServerLimits = {
  bodyBytes: 7 * 1024 * 1024,
  inFlight: 256,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  connectionCheckMs: 1_000,
  keepAliveTimeoutMs: 120_000,
}

export interface TlsMaterial {
  cert: string
  key: string
  /** Callers must show a certificate of this CA, where it is given. */
  clientCa?: string
}

export interface ServerOptions extends AdmissionDependencies {
  webhooks: readonly Webhook[]
  /** Answers Karmada's resource interpreter; without it that is not served. */
  interpreter?: Interpreter
  tls: TlsMaterial
  limits: ServerLimits
}

/** A server and how to give it another certificate while it runs. */
export interface AdmissionServer {
  fastify: FastifyInstance<Server>
  /** Used for every handshake from now on; open connections stay. */
  useCertificate(tls: TlsMaterial): void
}

/** What is served at one path. */
interface Endpoint {
  path: string
  /** What is posted there, in words. */
  takes: string
  serve(body: string): Answer
}

const JSON_TYPE = 'application/json; charset=utf-8'

/** Builds the server. `fastify.listen` makes it reachable, `fastify.close` drains it. */
export function buildServer({ webhooks, interpreter, tls, limits, ...dependencies }: ServerOptions): AdmissionServer {
  const { log, metrics } = dependencies
  const endpoints: Endpoint[] = [
    ...webhooks.map((webhook) => ({
      path: pathOf(webhook),
      takes: 'an AdmissionReview',
      serve: serveWebhook(webhook, dependencies),
    })),
  ]
  if (interpreter) {
    const serve = serveInterpreter(interpreter, dependencies)
    endpoints.push({ path: INTERPRETER_PATH, takes: 'a ResourceInterpreterContext', serve })
  }
  const server = fastify({
    https: {
      ...secureContext(tls),
      connectionsCheckingInterval: limits.connectionCheckMs,
      headersTimeout: limits.headersTimeoutMs,
    },
    logger: false,
    // Webhooks are called with `?timeout=`, which the caller keeps by itself; nobody here reads a query.
    routerOptions: { querystringParser: () => ({}) },
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    clientErrorHandler(error: NodeJS.ErrnoException, socket: Socket) {
      log.warn({ reason: error.message, code: error.code }, 'connection refused')
      refuseConnection(error, socket)
    },
  })

  let inFlight = 0
  metrics.observeInFlight(() => inFlight)
  server.addHook('onRequest', (_request, reply, done) => {
    inFlight++
    reply.raw.once('close', () => {
      inFlight--
    })
    if (inFlight <= limits.inFlight) return done()
    metrics.shed.inc()
    send(reply, {
      status: 503,
      body: problemBody(503, `more than ${limits.inFlight} requests in flight`),
      headers: { 'retry-after': '1' },
    })
  })

  server.removeAllContentTypeParsers()
  server.addContentTypeParser('application/json', (_request, payload, done) =>
    readBody(payload, limits.bodyBytes, done),
  )
  server.setErrorHandler((error: Error & { statusCode?: number }, request, reply) => {
    const status = error instanceof RequestProblem ? error.status : (error.statusCode ?? 500)
    log.warn({ path: request.url, status, reason: error.message }, 'request refused')
    return send(reply, { status, body: problemBody(status, messageFor(error)) })
  })
  server.setNotFoundHandler((request, reply) => {
    const known = endpoints.map(({ path }) => path).join(', ')
    log.warn({ path: request.url, status: 404 }, 'request refused')
    return send(reply, {
      status: 404,
      body: problemBody(404, `nothing is served at ${request.url}; webhooks are at ${known}`),
    })
  })
  const take = openTurns()
  for (const { path, takes, serve } of endpoints) {
    server.post(path, (request: FastifyRequest, reply) => {
      const body = typeof request.body === 'string' ? request.body : ''
      take({
        size: body.length,
        decide: () => serve(body),
        send: (answer) => void send(reply, answer),
        fail(error) {
          log.error({ path, err: error }, 'request failed')
          reply.raw.destroy()
        },
      })
    })
    server.route({
      method: ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
      url: path,
      handler: (request, reply) => {
        log.warn({ path: request.url, status: 405 }, 'request refused')
        return send(reply, {
          headers: { allow: 'POST' },
          status: 405,
          body: problemBody(405, `${request.method} is not served here; POST ${takes}`),
        })
      },
    })
  }
  return { fastify: server, useCertificate: (next) => server.server.setSecureContext(secureContext(next)) }
}

/** Writes the answer itself: what fastify could add (serialisation, hooks) is not needed, and costs as much as the decision. */
function send(
  reply: FastifyReply,
  { status, body, headers }: Answer & { headers?: Record<string, string> },
): FastifyReply {
  reply.hijack()
  // A connection that is busy when the server closes would wait for another request, and the server for its end.
  if (!reply.server.server.listening) reply.raw.setHeader('connection', 'close')
  const length = Buffer.byteLength(body)
  reply.raw.writeHead(status, { 'content-type': JSON_TYPE, 'content-length': length, ...headers })
  // Nearly every answer is ASCII, which needs no encoding.
  reply.raw.end(body, length === body.length ? 'latin1' : 'utf8')
  return reply
}

/** TLS 1.2 and newer; HTTP/1.1 is all that kube-apiserver speaks to webhooks (pkg/util/webhook/client.go). */
function secureContext({ cert, key, clientCa }: TlsMaterial) {
  return {
    cert,
    key,
    minVersion: 'TLSv1.2' as const,
    ALPNProtocols: ['http/1.1'],
    ...(clientCa && { ca: clientCa, requestCert: true, rejectUnauthorized: true }),
  }
}

function messageFor(error: Error & { code?: string }): string {
  return error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE' ? 'the content type must be application/json' : error.message
}

/** Answers what never became a request (bad HTTP, a header or a body that took too long) and ends its connection. */
function refuseConnection(
  error: NodeJS.ErrnoException,
  socket: Socket & { _httpMessage?: ServerResponse<IncomingMessage> },
): void {
  const timedOut = error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
  const status = timedOut ? 408 : 400
  if (!socket.writable || socket._httpMessage?.headersSent) return void socket.destroy()
  const body = problemBody(
    status,
    timedOut ? 'the request took too long to arrive' : `not an HTTP request: ${error.message}`,
  )
  const reason = timedOut ? 'Request Timeout' : 'Bad Request'
  socket.end(
    `HTTP/1.1 ${status} ${reason}\r\nContent-Type: ${JSON_TYPE}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
}
