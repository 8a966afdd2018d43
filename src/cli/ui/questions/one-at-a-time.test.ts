import { once } from 'node:events'
import { expect, test } from 'vitest'
import { oneAtATime } from './one-at-a-time.ts'

const { signal: ended } = new AbortController()
const asker = (user?: string, left = new AbortController().signal) => ({ ...(user !== undefined && { user }), left })
const questions = { what: 'question', command: 'lodestone what-if', ended } as const

test('a question that takes too long ends with the way out', async () => {
  const ask = oneAtATime({ ...questions, timeoutMs: 1 }, async (_question: string, signal) => {
    if (!signal.aborted) await once(signal, 'abort')
    signal.throwIfAborted()
  })
  await expect(ask('x', asker())).rejects.toMatchObject({
    statusCode: 503,
    message: 'the question took more than 0.001 s; use lodestone what-if',
  })
})

test('another error stays as it is, and the next question is answered', async () => {
  const ask = oneAtATime(questions, async (question: string) => {
    if (question === 'wrong') throw new Error('wrong')
    return question
  })
  await expect(ask('wrong', asker())).rejects.toThrow('wrong')
  expect(await ask('right', asker())).toBe('right')
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
  const answers = await Promise.allSettled(Array.from({ length: 10 }, (_, i) => ask(i, asker())))
  expect({ most, answered: answers.filter(({ status }) => status === 'fulfilled').length }).toEqual({
    most: 1,
    answered: 9,
  })
  expect(answers.at(-1)).toMatchObject({
    reason: { statusCode: 503, message: '8 questions wait; try again when one has ended' },
  })
})

/** Questions that end when the test says so, or when their signal aborts. */
function openQuestions() {
  const running = new Map<string, () => void>()
  const ask = oneAtATime(questions, async (question: string, signal) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    signal.addEventListener('abort', () => reject(signal.reason))
    running.set(question, resolve)
    await promise.finally(() => running.delete(question))
    return question
  })
  return { ask, running }
}

test('one user does not take the places of the others', async () => {
  const { ask, running } = openQuestions()
  const ofEve = Array.from({ length: 4 }, (_, i) => ask(`eve ${i}`, asker('eve')))
  await expect(ask('eve 4', asker('eve'))).rejects.toMatchObject({
    statusCode: 503,
    message: 'eve has asked 4 questions; try again when one has ended',
  })
  const ofBob = ask('bob', asker('bob'))
  running.get('eve 0')?.()
  expect(await ofEve[0]).toBe('eve 0')
  const asked = [...ofEve.slice(1), ofBob, ask('eve 5', asker('eve'))]
  // No question stays open: it would fail after its time, while another test runs.
  const answers = ['eve 1', 'eve 2', 'eve 3', 'bob', 'eve 5']
  for (const question of answers) {
    await expect.poll(() => [...running.keys()]).toEqual([question])
    running.get(question)?.()
  }
  expect(await Promise.all(asked)).toEqual(answers)
})

test('the question of a reader that leaves gives its place and its turn back', async () => {
  const { ask, running } = openQuestions()
  const leaving = Array.from({ length: 9 }, () => new AbortController())
  const asked = leaving.map(({ signal }, i) => ask(`${i}`, asker(undefined, signal)))
  await expect(ask('later', asker())).rejects.toMatchObject({ statusCode: 503 })
  for (const each of leaving.slice(0, 8)) each.abort()
  const ended = await Promise.allSettled(asked.slice(0, 8))
  expect(ended.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 'rejected'))

  expect([...running.keys()]).toEqual(['8'])
  const later = ask('later', asker())
  running.get('8')?.()
  expect(await asked[8]).toBe('8')
  await expect.poll(() => [...running.keys()]).toEqual(['later'])
  running.get('later')?.()
  expect(await later).toBe('later')
})

test('the question of a reader that has left is not begun', async () => {
  const { ask, running } = openQuestions()
  await expect(ask('x', asker(undefined, AbortSignal.abort()))).rejects.toThrow('aborted')
  expect(running.size).toBe(0)
})
