/** Writes responses: the answer of a decision, or a problem instead of it. */
import type { FastifyReply } from 'fastify'
import type { ByteBudget, Holding } from './byte-budget.ts'
import type { Answer, CallDependencies } from './call.ts'
import type { Connections } from './connections.ts'
import type { ServerLimits } from './limits.ts'
import { busy, JSON_TYPE, type Problem, problemBody } from './problem.ts'

export interface ResponsesInput extends CallDependencies {
  budget: ByteBudget
  connections: Pick<Connections, 'answered'>
  limits: Pick<ServerLimits, 'bytesInFlight'>
}

export interface Responses {
  /**
   * Sends the answer of a decision, and counts how long its request took. If the budget of bytes has no room for it, the request is rejected
   * instead. Does nothing if the caller has closed its connection.
   */
  respond(reply: FastifyReply, answer: Answer, request: { size: number; arrivedAt: number }): void
  /** Sends a problem, logs it, and counts it if a limit of the server is the cause. */
  reject(reply: FastifyReply, problem: Problem): void
  /** Closes the connection of a request that had an unexpected error. */
  abort(reply: FastifyReply, error: unknown): void
  /** Makes every further response close its connection, so that callers connect to another replica. */
  drain(): void
}

/** In characters: the maximum length of a part of a request in a message. */
export const MAX_SHOWN = 200

export function openResponses({ log, metrics, budget, connections, limits }: ResponsesInput): Responses {
  let isDraining = false

  /**
   * Writes the response directly. Serialization and hooks of fastify are not needed and would cost as much as the decision.
   *
   * @param counted the bytes of a decision; those of other responses do not count, since they are short
   */
  function send(
    reply: FastifyReply,
    { status, body, headers }: Answer & { headers?: Problem['headers'] | undefined },
    counted?: { length: number; holding: Holding },
  ): void {
    reply.hijack()
    const { raw } = reply
    const length = counted?.length ?? Buffer.byteLength(body)
    // The bytes of a response count until the caller has read it.
    if (counted) raw.once('close', counted.holding.release)
    if (isDraining) raw.setHeader('connection', 'close')
    raw.writeHead(status, { 'content-type': JSON_TYPE, 'content-length': length, ...headers })
    // Nearly every response is ASCII, for which no encoding is needed.
    raw.end(body, length === body.length ? 'latin1' : 'utf8')
    if (status === 200) connections.answered(reply.request.raw.socket)
  }

  function reject(reply: FastifyReply, { status, message, headers, limit }: Problem): void {
    if (limit) metrics.shed.labels(limit).inc()
    log.warn({ path: reply.request.url.slice(0, MAX_SHOWN), status, reason: message }, 'request refused')
    send(reply, { status, body: problemBody(status, message), headers })
  }

  return {
    respond(reply, answer, { size, arrivedAt }) {
      // The caller has left: there is no further event to release the bytes.
      if (reply.raw.closed) return
      const length = Buffer.byteLength(answer.body)
      let isBegun = false
      // The budget drops older and larger holdings first.
      const holding = budget.open(() => isBegun && reply.raw.destroy())
      if (holding.grow(length)) {
        isBegun = true
        send(reply, answer, { length, holding })
        metrics.countReview(size, performance.now() - arrivedAt)
      } else {
        const remedy = length > limits.bytesInFlight ? 'raise server.maxBytesInFlight' : 'retry'
        reject(reply, busy('bytes', `no room for an answer of ${length} bytes; ${remedy}`))
      }
    },
    reject,
    abort(reply, error) {
      log.error({ path: reply.request.routeOptions.url, err: error }, 'request failed')
      reply.raw.destroy()
    },
    drain() {
      isDraining = true
    },
  }
}
