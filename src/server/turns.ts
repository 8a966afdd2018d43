/** Answers requests in turns: what came together is decided together, then sent. */
import type { Answer } from './call.ts'

/** A request whose body is there. */
export interface Waiting {
  /** Throws nothing. */
  decide(): Answer
  send(answer: Answer): void
}

/** For so long, in ms, answers wait for decisions on other requests: a hundred of the usual size, but not two of the largest. */
const LONGEST_TURN_MS = 2

/**
 * Gives a function that takes requests. Those that come in one turn of the event loop are all decided before the first answer is sent.
 *
 * Reading, deciding and sending are much code each. Done request by request, each step pushes the others out of the processor's caches,
 * and a decision costs twice what it costs when another one came just before (docs/performance.md). Of those that come together, the
 * first waits for as long as the others' decisions take, some 15 µs each. Who came alone in the turn before is taken to be alone again,
 * and answered at once: to wait would cost another turn.
 *
 * @param now a clock in milliseconds
 */
export function openTurns(now: () => number = () => performance.now()): (request: Waiting) => void {
  let waiting: Waiting[] = []
  /** How many came in this turn. */
  let came = 0
  let isAlone = true

  function answerAll(turn: readonly Waiting[]): void {
    let decided: { request: Waiting; answer: Answer }[] = []
    let begun = now()
    for (const request of turn) {
      decided.push({ request, answer: request.decide() })
      if (now() - begun < LONGEST_TURN_MS) continue
      send(decided)
      decided = []
      begun = now()
    }
    send(decided)
  }

  function endTurn(): void {
    const turn = waiting
    // What is sent may bring the next request at once: that one has the next turn.
    waiting = []
    isAlone = came === 1
    came = 0
    answerAll(turn)
  }

  return (request) => {
    came++
    if (came === 1) setImmediate(endTurn)
    if (came === 1 && isAlone) request.send(request.decide())
    else waiting.push(request)
  }
}

function send(decided: readonly { request: Waiting; answer: Answer }[]): void {
  for (const { request, answer } of decided) request.send(answer)
}
