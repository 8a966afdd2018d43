/** Tests which answer a reader sees who asks again, or whose question fails. */
import { expect, test } from 'vitest'
import { ServerQuestion } from './server-question.ts'

const messageOf = (error: Error) => error.message

test('the answer to an earlier question does not replace that to a later one', async () => {
  const question = new ServerQuestion<string, string>()
  const [first, second] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()]
  const signals: AbortSignal[] = []
  const ask = ({ promise }: PromiseWithResolvers<string>) =>
    question.ask((signal) => {
      signals.push(signal)
      return promise
    }, messageOf)
  const asked = [ask(first), ask(second)]
  second.resolve('second')
  await asked[1]
  first.resolve('first')
  await asked[0]

  expect(question.asked).toEqual({ isAsking: false, answer: 'second' })
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false])
})

test('an earlier question that fails leaves the later one waiting', async () => {
  const question = new ServerQuestion<string, string>()
  const first = Promise.withResolvers<string>()
  const ended = question.ask(() => first.promise, messageOf)
  void question.ask(() => new Promise(() => undefined), messageOf)
  first.reject(new Error('aborted'))
  await ended

  expect(question.asked).toEqual({ isAsking: true })
})

test('the last answer stays while the next is awaited, and after one that failed', async () => {
  const question = new ServerQuestion<string, string>()
  const seen: unknown[] = []
  await question.ask(async () => 'answer', messageOf)
  const unsubscribe = question.subscribe(() => seen.push(question.asked))
  await question.ask(() => Promise.reject(new Error('no')), messageOf)
  question.setProblem(undefined)
  question.clearAnswer()
  unsubscribe()
  question.setProblem('unseen')

  expect(seen).toEqual([
    { isAsking: true, answer: 'answer' },
    { isAsking: false, answer: 'answer', problem: 'no' },
    { isAsking: false, answer: 'answer' },
    { isAsking: false },
  ])
})
