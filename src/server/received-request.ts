/** A complete request of a caller, from its arrival to its response. */
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply } from 'fastify'
import type { ReceivedBody } from './body.ts'
import type { Answer, Serve } from './call.ts'
import { busy, type Problem } from './problem.ts'
import type { QueuedRequest } from './request-queue.ts'
import type { Responses } from './responses.ts'

/** Its body counts in the byte budget until the decision. If the budget drops the body before that, the request is rejected. */
export class ReceivedRequest implements QueuedRequest {
  readonly #reply: FastifyReply
  readonly #body: ReceivedBody | undefined
  readonly #serve: Serve
  readonly #responses: Responses
  /** The length of its body in bytes. */
  readonly size: number
  /** When its body was complete, in ms by the monotonic clock of the process. */
  readonly arrivedAt = performance.now()
  #isRejected = false

  /** @param serve decides: from the text of the body to the answer */
  constructor(reply: FastifyReply, serve: Serve, responses: Responses) {
    this.#reply = reply
    this.#body = reply.request.body as ReceivedBody | undefined
    this.size = this.#body?.size ?? 0
    this.#serve = serve
    this.#responses = responses
    this.#body?.onDropped(() => this.reject(busy('bytes', 'too many bytes of requests in flight; retry')))
  }

  reject(problem: Problem): void {
    this.#isRejected = true
    this.#body?.release()
    this.#responses.reject(this.#reply, problem)
  }

  decide(): Answer | undefined {
    if (this.#isRejected) return undefined
    try {
      return this.#serve(this.#body?.text() ?? '', traceparentOf(this.#reply.request.headers))
    } finally {
      this.#body?.release()
    }
  }

  respond(answer: Answer): void {
    this.#responses.respond(this.#reply, answer, this)
  }

  abort(error: unknown): void {
    this.#responses.abort(this.#reply, error)
  }
}

/**
 * Returns the header `traceparent`, which kube-apiserver sends if tracing is on; undefined without a valid one (W3C Trace Context, version 00).
 */
function traceparentOf({ traceparent }: IncomingHttpHeaders): string | undefined {
  return typeof traceparent === 'string' && TRACEPARENT.test(traceparent) ? traceparent : undefined
}

const TRACEPARENT = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/
