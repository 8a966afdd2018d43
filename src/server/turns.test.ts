import { expect, test } from 'vitest'
import { openTurns, type Waiting } from './turns.ts'

let told: string[] = []

function request(name: string, { deciding = () => {}, sending = () => {} } = {}): Waiting {
  return {
    decide() {
      told.push(`decide ${name}`)
      deciding()
      return { status: 200, body: name }
    },
    send({ body }) {
      told.push(`send ${body}`)
      sending()
    },
  }
}

/** What is done in the next turns of the event loop. */
async function afterTurns(turns = 1): Promise<string[]> {
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
  const done = told
  told = []
  return done
}

test('what came together is decided before anything is sent, and everybody gets the own answer, in order', async () => {
  const take = openTurns(() => 0)

  take(request('first'))
  take(request('second'))

  expect(told).toEqual([])
  expect(await afterTurns()).toEqual(['decide first', 'decide second', 'send first', 'send second'])
})

test('what comes while answers are sent has the next turn', async () => {
  const take = openTurns(() => 0)

  take(request('first', { sending: () => take(request('second')) }))

  expect(await afterTurns(2)).toEqual(['decide first', 'send first', 'decide second', 'send second'])
})

test('a decision that takes long keeps only those waiting that came before it', async () => {
  let now = 0
  const take = openTurns(() => now)
  const long = () => {
    now += 50
  }

  take(request('small'))
  take(request('huge', { deciding: long }))
  take(request('late'))

  expect(await afterTurns()).toEqual([
    'decide small',
    'decide huge',
    'send small',
    'send huge',
    'decide late',
    'send late',
  ])
})
