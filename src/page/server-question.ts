/** A question of the reader to the server, with its answer. Both stay while the reader looks at another view. */
import { useEffect, useState } from 'preact/hooks'
import { defined } from '../base/json.ts'

export interface Asked<Answer, Problem> {
  /** Whether an answer is awaited. */
  isAsking: boolean
  /** The last answer. It stays while the next one is awaited, and after a question without an answer. */
  answer?: Answer
  /** Why the last question has no answer. */
  problem?: Problem
}

export class ServerQuestion<Answer, Problem> {
  #asked: Asked<Answer, Problem> = { isAsking: false }
  #abort = new AbortController()
  readonly #listeners = new Set<() => void>()

  get asked(): Asked<Answer, Problem> {
    return this.#asked
  }

  /** Asks. A question before it that has no answer yet is given up. */
  async ask(read: (signal: AbortSignal) => Promise<Answer>, problemOf: (error: Error) => Problem): Promise<void> {
    this.#abort.abort()
    this.#abort = new AbortController()
    const { signal } = this.#abort
    const { answer: last } = this.#asked
    this.#set(defined({ isAsking: true, answer: last }))
    const asked = await read(signal).then(
      (answer) => ({ isAsking: false, answer }),
      (error: Error) => defined({ isAsking: false, answer: last, problem: problemOf(error) }),
    )
    if (!signal.aborted) this.#set(asked)
  }

  /** Shows a problem of a question that is not asked, or removes the last problem. */
  setProblem(problem: Problem | undefined): void {
    const { isAsking, answer } = this.#asked
    this.#set(defined({ isAsking, answer, problem }))
  }

  clearAnswer(): void {
    const { isAsking, problem } = this.#asked
    this.#set(defined({ isAsking, problem }))
  }

  /** Calls the listener after each change, until the returned function is called. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  #set(asked: Asked<Answer, Problem>): void {
    this.#asked = asked
    for (const listener of this.#listeners) listener()
  }
}

/** Returns what a question has, and renders again when that changes. */
export function useQuestion<Answer, Problem>(question: ServerQuestion<Answer, Problem>): Asked<Answer, Problem> {
  const [asked, setAsked] = useState(question.asked)
  useEffect(() => {
    const update = () => setAsked(question.asked)
    update()
    return question.subscribe(update)
  }, [question])
  return asked
}
