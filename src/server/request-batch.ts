/** Decides requests in batches: what arrived together is decided together, then sent. A large request is decided by itself. */
import type { Answer } from './call.ts'

/** A request whose body has arrived. */
export interface Waiting {
  /** The length of its body in bytes. */
  size: number
  decide(): Answer
  send(answer: Answer): void
  /** Ends this request after `decide` or `send` threw, which is a fault of ours. Must not throw. */
  fail(error: unknown): void
}

/** Answers wait at most this long, in ms, for decisions on other requests: a hundred of the usual size, but not two of the largest. */
const LONGEST_TURN_MS = 2
/** A larger body, in bytes, is decided after the others of its turn, one a turn: it delays none that arrives meanwhile. */
export const LARGE_BODY_BYTES = 128 * 1024

/**
 * Returns a function that takes requests. Those that arrive in one turn of the event loop are all decided before the first answer is sent.
 *
 * Reading, deciding and sending are much code each. Done request by request, each step pushes the others out of the processor's caches,
 * and a decision costs twice what it costs when another one came just before (docs/performance.md). Of requests that arrive together, the
 * first waits for as long as the others' decisions take, some 15 µs each. A request that arrives alone, after a turn with one request, is
 * answered immediately: to wait would cost another turn.
 *
 * @param now a clock in milliseconds
 */
export function openTurns(now: () => number = () => performance.now()): (request: Waiting) => void {
  let waiting: Waiting[] = []
  const large: Waiting[] = []
  let isScheduled = false
  /** How many arrived in this turn. */
  let arrived = 0
  let isAlone = true

  function answerAll(turn: readonly Waiting[]): void {
    let decided: { request: Waiting; answer: Answer }[] = []
    let begun = now()
    for (const request of turn) {
      const answer = decide(request)
      if (answer) decided.push({ request, answer })
      if (now() - begun < LONGEST_TURN_MS) continue
      sendAll(decided)
      decided = []
      begun = now()
    }
    sendAll(decided)
  }

  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    setImmediate(endTurn)
  }

  function endTurn(): void {
    isScheduled = false
    const turn = waiting
    // An answer may bring the next request at once: that one has the next turn.
    waiting = []
    isAlone = arrived === 1
    arrived = 0
    answerAll(turn)
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

function decide(request: Waiting): Answer | undefined {
  try {
    return request.decide()
  } catch (error) {
    request.fail(error)
    return undefined
  }
}

function sendAll(decided: readonly { request: Waiting; answer: Answer }[]): void {
  for (const { request, answer } of decided) {
    try {
      request.send(answer)
    } catch (error) {
      request.fail(error)
    }
  }
}
