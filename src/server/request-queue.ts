/**
 * The queue of complete requests. It decides the requests that arrive together before it sends the first response. A large request is
 * decided by itself.
 */
import type { Answer } from './call.ts'
import { busy, type Problem } from './problem.ts'

/** A complete request. Exactly one of `respond`, `reject` and `abort` ends it. */
export interface QueuedRequest {
  /** The length of its body in bytes. */
  readonly size: number
  /** Before the decision: responds with a problem instead. */
  reject(problem: Problem): void
  /** Decides, once. Returns undefined if the request was rejected before. */
  decide(): Answer | undefined
  /** After the decision: sends its answer. */
  respond(answer: Answer): void
  /** Ends the request after `decide` or `respond` threw an error. Must not throw. */
  abort(error: unknown): void
}

/** A request after its decision. */
interface DecidedRequest {
  request: QueuedRequest
  answer: Answer
}

export interface RequestQueue {
  /** Takes a request. At the limit, it is rejected, and the caller retries. */
  add(request: QueuedRequest): void
  /** The number of requests that wait for their decision. */
  length(): number
}

/** In ms. A response waits at most this long for other decisions: about a hundred usual ones. */
const LONGEST_BATCH_MS = 2
/** In bytes. A larger request is decided after the batch, one per iteration of the event loop, so that it delays no other request. */
export const LARGE_BODY_BYTES = 128 * 1024

/**
 * Opens a queue. A batch is the requests that arrive in one iteration of the event loop.
 *
 * Reading, deciding and sending are large pieces of code. For each request separately, every step would evict the others from the
 * processor's caches (docs/dev/adr/platform/0023-effect-of-each-optimization.md). The first request of a batch waits for the other decisions, about 15
 * µs each. If the last batch had one request, the first request of the next one is answered immediately: a wait would cost one more
 * iteration.
 *
 * @param limit of usual requests that wait. Large requests have a separate limit of the same size, so that they do not displace usual ones
 * @param now a clock in milliseconds
 */
export function openRequestQueue(limit: number, now: () => number = () => performance.now()): RequestQueue {
  let batch: QueuedRequest[] = []
  const large: QueuedRequest[] = []
  let isScheduled = false
  /** The number of usual requests in this iteration of the event loop. */
  let arrived = 0
  let isAlone = true

  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    setImmediate(endBatch)
  }

  function endBatch(): void {
    isScheduled = false
    const ended = batch
    // A response may cause the next request immediately; that one belongs to the next batch.
    batch = []
    isAlone = arrived === 1
    arrived = 0
    answerAll(ended, now)
    const first = large.shift()
    if (first) answerAll([first], now)
    if (large.length > 0) schedule()
  }

  return {
    add(request) {
      const isLarge = request.size > LARGE_BODY_BYTES
      const waiting = isLarge ? large : batch
      if (waiting.length >= limit) {
        request.reject(busy('in-flight', `more than ${limit} requests in flight; retry`))
        return
      }
      if (!isLarge) arrived++
      if (isLarge || arrived === 1) schedule()
      if (!isLarge && arrived === 1 && isAlone) answerAll([request], now)
      else waiting.push(request)
    },
    length: () => batch.length + large.length,
  }
}

/** Decides all requests, then sends the answers: those that are ready at the latest after `LONGEST_BATCH_MS`. */
function answerAll(batch: readonly QueuedRequest[], now: () => number): void {
  let decided: DecidedRequest[] = []
  let begun = now()
  for (const request of batch) {
    const answer = decide(request)
    if (answer) decided.push({ request, answer })
    if (now() - begun < LONGEST_BATCH_MS) continue
    respondAll(decided)
    decided = []
    begun = now()
  }
  respondAll(decided)
}

function decide(request: QueuedRequest): Answer | undefined {
  try {
    return request.decide()
  } catch (error) {
    request.abort(error)
    return undefined
  }
}

function respondAll(decided: readonly DecidedRequest[]): void {
  for (const { request, answer } of decided) {
    try {
      request.respond(answer)
    } catch (error) {
      request.abort(error)
    }
  }
}
