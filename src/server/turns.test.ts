import { expect, test } from 'vitest'
import { openTurns, type Waiting } from './turns.ts'

const told: string[] = []
const request = (name: string, sent: () => void = () => undefined): Waiting => ({
  decide() {
    told.push(`decide ${name}`)
    return { status: 200, body: name }
  },
  send({ body }) {
    told.push(`send ${body}`)
    sent()
  },
})
const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

test('what came together is decided before anything is sent, and everybody gets the own answer, in order', async () => {
  told.length = 0
  const take = openTurns()

  take(request('first'))
  take(request('second'))
  expect(told).toEqual([])
  await nextTurn()

  expect(told).toEqual(['decide first', 'decide second', 'send first', 'send second'])
})

test('what comes while answers are sent has the next turn', async () => {
  told.length = 0
  const take = openTurns()

  take(request('first', () => take(request('second'))))
  await nextTurn()
  await nextTurn()

  expect(told).toEqual(['decide first', 'send first', 'decide second', 'send second'])
})
