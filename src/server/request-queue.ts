/** A queue of complete requests that wait for their decision, with a limit. Further requests are rejected, and the caller retries. */
import type { ReceivedBody } from './body.ts'
import type { Answer } from './call.ts'
import { LARGE_BODY_BYTES, openRequestBatches } from './request-batch.ts'

/** A complete request. */
export interface QueuedRequest {
  body: ReceivedBody | undefined
  serve(body: string): Answer
  send(answer: Answer): void
  shed(reason: 'bytes' | 'in-flight', message: string): void
  /** Ends the request after an internal fault. */
  fail(error: unknown): void
}

export interface RequestQueue {
  take(request: QueuedRequest): void
  /** The number of requests that wait for their decision. */
  length(): number
}

/**
 * Opens a queue. Large requests, which are decided one at a time, have a separate limit of the same size, so that they do not displace
 * usual requests.
 */
export function openRequestQueue(limit: number): RequestQueue {
  const addToBatch = openRequestBatches()
  const waiting = { usual: 0, large: 0 }

  return {
    take({ body, serve, send, shed, fail }) {
      const size = body?.size ?? 0
      const kind = size > LARGE_BODY_BYTES ? 'large' : 'usual'
      if (waiting[kind] >= limit) {
        body?.release()
        shed('in-flight', `more than ${limit} requests in flight; retry`)
        return
      }
      let isDropped = false
      waiting[kind]++
      body?.onDropped(() => {
        isDropped = true
        shed('bytes', 'too many bytes of requests in flight; retry')
      })
      addToBatch({
        size,
        decide() {
          waiting[kind]--
          try {
            return isDropped ? SHED : serve(body?.text() ?? '')
          } finally {
            body?.release()
          }
        },
        send(answer) {
          if (!isDropped) send(answer)
        },
        fail,
      })
    },
    length: () => waiting.usual + waiting.large,
  }
}

/** The answer of a request that was rejected meanwhile; it is never sent. */
const SHED: Answer = { status: 503, body: '' }
