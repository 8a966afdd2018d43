import { once } from 'node:events'
import { expect, test } from 'vitest'
import { oneAtATime } from './one-at-a-time.ts'

const { signal: ended } = new AbortController()
const questions = { what: 'question', command: 'lodestone what-if', ended } as const

test('a question that takes too long ends with the way out', async () => {
  const ask = oneAtATime({ ...questions, timeoutMs: 1 }, async (_question: string, signal) => {
    if (!signal.aborted) await once(signal, 'abort')
    signal.throwIfAborted()
  })
  await expect(ask('x')).rejects.toMatchObject({
    statusCode: 503,
    message: 'the question took more than 0.001 s; use lodestone what-if',
  })
})

test('another error stays as it is, and the next question is answered', async () => {
  const ask = oneAtATime(questions, async (question: string) => {
    if (question === 'wrong') throw new Error('wrong')
    return question
  })
  await expect(ask('wrong')).rejects.toThrow('wrong')
  expect(await ask('right')).toBe('right')
})

test('one question is answered at a time, and the tenth that waits is rejected', async () => {
  let [running, most] = [0, 0]
  const ask = oneAtATime(questions, async (question: number) => {
    running += 1
    most = Math.max(most, running)
    await Promise.resolve()
    running -= 1
    return question
  })
  const answers = await Promise.allSettled(Array.from({ length: 10 }, (_, i) => ask(i)))
  expect({ most, answered: answers.filter(({ status }) => status === 'fulfilled').length }).toEqual({
    most: 1,
    answered: 9,
  })
  expect(answers.at(-1)).toMatchObject({
    reason: { statusCode: 503, message: '8 questions wait; try again when one has ended' },
  })
})
