/** Request batches: decides the requests that arrive together before it sends the first response. A large request has a batch of its own. */
import type { Answer } from './call.ts'

/** A request whose body has arrived. */
export interface BatchedRequest {
  /** The length of its body in bytes. */
  size: number
  decide(): Answer
  send(answer: Answer): void
  /** Ends this request after `decide` or `send` threw. Must not throw. */
  fail(error: unknown): void
}

/** Responses wait at most this long, in ms, for other decisions: about a hundred of the usual size. */
const LONGEST_BATCH_MS = 2
/** A larger body, in bytes, is decided after the batch, one in each iteration of the event loop: it delays no request that arrives meanwhile. */
export const LARGE_BODY_BYTES = 128 * 1024

/**
 * Returns a function that takes requests. A batch is what arrives in one iteration of the event loop.
 *
 * Reading, deciding and sending are much code each. Request by request, each step pushes the others out of the processor's caches
 * (docs/adr/0023-effect-of-each-optimization.md). The first request of a batch waits for the other decisions, about 15 µs each. A single
 * request is answered immediately when the batch before it had one request: waiting would cost another iteration.
 *
 * @param now a clock in milliseconds
 */
export function openRequestBatches(now: () => number = () => performance.now()): (request: BatchedRequest) => void {
  let waiting: BatchedRequest[] = []
  const large: BatchedRequest[] = []
  let isScheduled = false
  /** Requests of this iteration of the event loop. */
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
    // A response may bring the next request immediately: that one is in the next batch.
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
