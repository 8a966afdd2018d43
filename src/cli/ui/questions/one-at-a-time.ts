/** Answers questions that take long one after another, each within a time. */
import type { SchemaValidator } from '../../../base/schema/schema-errors.ts'
import type { Viewer } from '../access/viewer.ts'
import { Places } from '../places.ts'
import type { BodyProblem } from '../replies.ts'

/** Further questions are rejected. */
const MAX_WAITING = 8
/** One question runs, and the others wait. */
const MAX_OPEN = 1 + MAX_WAITING
const MAX_OF_USER = 4
const TIMEOUT_MS = 20_000

/** Too many questions wait, or one takes too long. */
class BusyError extends Error {
  override name = 'BusyError'
  readonly statusCode = 503
}

interface Questions {
  /** The noun of messages. */
  what: 'check' | 'question'
  /** The command that answers it without a limit. */
  command: string
  /** Aborts when the server ends. */
  ended: AbortSignal
  timeoutMs?: number
}

/** The reader of an answer. */
export interface Asker extends Pick<Viewer, 'user'> {
  /** Aborts when the reader has left, so that no reader waits for the answer. */
  left: AbortSignal
}

/**
 * Returns a function that answers one question at a time. `answer` ends when its signal aborts. The function throws if too many questions wait, or
 * if the answer takes too long. The question of a reader who has left ends, and gives its place to another one.
 */
export function oneAtATime<Question, Answer>(
  { what, command, ended, timeoutMs = TIMEOUT_MS }: Questions,
  answer: (question: Question, signal: AbortSignal) => Promise<Answer>,
): (question: Question, asker: Asker) => Promise<Answer> {
  const places = new Places(MAX_OPEN, MAX_OF_USER)
  const turns = new Turns()
  const answerInTime = async (question: Question, left: AbortSignal): Promise<Answer> => {
    const timeout = AbortSignal.timeout(timeoutMs)
    try {
      return await answer(question, AbortSignal.any([ended, timeout, left]))
    } catch (error) {
      if (error !== timeout.reason) throw error
      throw new BusyError(`the ${what} took more than ${timeoutMs / 1000} s; use ${command}`, { cause: error })
    }
  }
  const rejection = (asker: Asker): string | undefined => {
    const takenBy = places.takenBy(asker)
    if (takenBy === 'user') return `${asker.user} has asked ${MAX_OF_USER} ${what}s; try again when one has ended`
    return takenBy && `${MAX_WAITING} ${what}s wait; try again when one has ended`
  }
  return async (question, asker) => {
    const message = rejection(asker)
    if (message !== undefined) throw new BusyError(message)
    const leave = places.take(asker)
    try {
      return await turns.run(asker.left, () => answerInTime(question, asker.left))
    } finally {
      leave()
    }
  }
}

/** Runs one task at a time, in the order in which they came. */
class Turns {
  #isTaken = false
  readonly #waiting = new Set<() => void>()

  /** Runs the task when those before it have ended. Throws the reason of the signal if it aborts before. */
  async run<Result>(left: AbortSignal, task: () => Promise<Result>): Promise<Result> {
    left.throwIfAborted()
    if (this.#isTaken) await this.#wait(left)
    this.#isTaken = true
    try {
      return await task()
    } finally {
      this.#passOn()
    }
  }

  #wait(left: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#waiting.add(resolve)
    const leave = () => this.#waiting.delete(resolve) && reject(left.reason)
    left.addEventListener('abort', leave, { once: true })
    return promise
  }

  /** The turn stays taken for the next one: a task that comes before it begins must wait. */
  #passOn(): void {
    const [next] = this.#waiting
    if (!next) this.#isTaken = false
    else {
      this.#waiting.delete(next)
      next()
    }
  }
}

/** As `oneAtATime`, for bodies of requests: an invalid one gets what is wrong with it. */
export function answerBodies<Question, Answer>(
  validate: SchemaValidator,
  questions: Questions,
  answer: (question: Question, signal: AbortSignal) => Promise<Answer>,
): (body: unknown, asker: Asker) => Promise<Answer | { problems: BodyProblem[] }> {
  const answerQuestion = oneAtATime(questions, answer)
  return async (body, asker) => {
    const errors = validate(body)
    return errors.length > 0
      ? { problems: errors.map(({ path, message }) => ({ path, message })) }
      : answerQuestion(body as Question, asker)
  }
}
