/** Request batches: decides the requests that arrive together before it sends the first response. A large request is a batch of its own. */
import type { Answer } from './call.ts'

/** A request with a complete body. */
export interface BatchedRequest {
  /** The length of its body in bytes. */
  size: number
  decide(): Answer
  send(answer: Answer): void
  /** Ends the request after `decide` or `send` threw an error. Must not throw. */
  fail(error: unknown): void
}

/** In ms. A response waits at most this long for other decisions: about a hundred usual ones. */
const LONGEST_BATCH_MS = 2
/** In bytes. A larger request is decided after the batch, one per iteration of the event loop, so that it delays no other request. */
export const LARGE_BODY_BYTES = 128 * 1024

/**
 * Returns a function that accepts requests. A batch is the requests that arrive in one iteration of the event loop.
 *
 * Reading, deciding and sending are large pieces of code. For each request separately, every step would evict the others from the
 * processor's caches (docs/adr/0023-effect-of-each-optimization.md). The first request of a batch waits for the other decisions, about 15
 * µs each. If the last batch had one request, the first request of the next one is answered immediately: a wait would cost one more
 * iteration.
 *
 * @param now a clock in milliseconds
 */
export function openRequestBatches(now: () => number = () => performance.now()): (request: BatchedRequest) => void {
  let waiting: BatchedRequest[] = []
  const large: BatchedRequest[] = []
  let isScheduled = false
  /** The number of requests in this iteration of the event loop. */
  let arrived = 0
  let isAlone = true

  function answerAll(batch: readonly BatchedRequest[]): void {
    let decided: { request: BatchedRequest; answer: Answer }[] = []
    let begun = now()
    for (const request of batch) {
      const answer = decide(request)
      if (answer) decided.push({ request, answer })
      if (now() - begun < LONGEST_BATCH_MS) continue
      sendAll(decided)
      decided = []
      begun = now()
    }
    sendAll(decided)
  }

  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    setImmediate(endBatch)
  }

  function endBatch(): void {
    isScheduled = false
    const batch = waiting
    // A response may cause the next request immediately; that one belongs to the next batch.
    waiting = []
    isAlone = arrived === 1
    arrived = 0
    answerAll(batch)
    const first = large.shift()
    if (first) answerAll([first])
    if (large.length > 0) schedule()
  }

  return (request) => {
    if (request.size > LARGE_BODY_BYTES) {
      large.push(request)
      schedule()
      return
    }
    arrived++
    if (arrived === 1) schedule()
    if (arrived === 1 && isAlone) answerAll([request])
    else waiting.push(request)
  }
}

function decide(request: BatchedRequest): Answer | undefined {
  try {
    return request.decide()
  } catch (error) {
    request.fail(error)
    return undefined
  }
}

function sendAll(decided: readonly { request: BatchedRequest; answer: Answer }[]): void {
  for (const { request, answer } of decided) {
    try {
      request.send(answer)
    } catch (error) {
      request.fail(error)
    }
  }
}
