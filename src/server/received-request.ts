/** A complete request of a caller, from its arrival to its response. */
import type { FastifyReply } from 'fastify'
import type { ReceivedBody } from './body.ts'
import type { Answer } from './call.ts'
import { busy, type Problem } from './problem.ts'
import type { QueuedRequest } from './request-queue.ts'
import type { Responses } from './responses.ts'

/** Its body counts in the byte budget until the decision. If the budget drops the body before that, the request is rejected. */
export class ReceivedRequest implements QueuedRequest {
  readonly #reply: FastifyReply
  readonly #body: ReceivedBody | undefined
  readonly #serve: (body: string) => Answer
  readonly #responses: Responses
  /** The length of its body in bytes. */
  readonly size: number
  /** When its body was complete, in ms by the monotonic clock of the process. */
  readonly arrivedAt = performance.now()
  #isRejected = false

  /** @param serve decides: from the text of the body to the answer */
  constructor(reply: FastifyReply, serve: (body: string) => Answer, responses: Responses) {
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
      return this.#serve(this.#body?.text() ?? '')
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
