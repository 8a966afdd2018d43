/** Answers questions that take long one after another, each within a time. */
import pLimit from 'p-limit'
import type { SchemaValidator } from '../../../base/schema/schema-errors.ts'
import type { BodyProblem } from '../replies.ts'

/** Further questions are rejected. */
const MAX_WAITING = 8
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

/**
 * Returns a function that answers one question at a time. `answer` ends when its signal aborts. The function throws if too many questions wait, or
 * if the answer takes too long.
 */
export function oneAtATime<Question, Answer>(
  { what, command, ended, timeoutMs = TIMEOUT_MS }: Questions,
  answer: (question: Question, signal: AbortSignal) => Promise<Answer>,
): (question: Question) => Promise<Answer> {
  const limit = pLimit(1)
  let open = 0
  const answerInTime = async (question: Question): Promise<Answer> => {
    const timeout = AbortSignal.timeout(timeoutMs)
    try {
      return await answer(question, AbortSignal.any([ended, timeout]))
    } catch (error) {
      if (error !== timeout.reason) throw error
      throw new BusyError(`the ${what} took more than ${timeoutMs / 1000} s; use ${command}`, { cause: error })
    }
  }
  return async (question) => {
    if (open > MAX_WAITING) throw new BusyError(`${MAX_WAITING} ${what}s wait; try again when one has ended`)
    open += 1
    try {
      return await limit(() => answerInTime(question))
    } finally {
      open -= 1
    }
  }
}

/** As `oneAtATime`, for bodies of requests: an invalid one gets what is wrong with it. */
export function answerBodies<Question, Answer>(
  validate: SchemaValidator,
  questions: Questions,
  answer: (question: Question, signal: AbortSignal) => Promise<Answer>,
): (body: unknown) => Promise<Answer | { problems: BodyProblem[] }> {
  const answerQuestion = oneAtATime(questions, answer)
  return async (body) => {
    const errors = validate(body)
    return errors.length > 0
      ? { problems: errors.map(({ path, message }) => ({ path, message })) }
      : answerQuestion(body as Question)
  }
}
