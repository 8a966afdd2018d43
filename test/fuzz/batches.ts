/** Batches of requests from a seed: batch N of a seed is always the same, whatever ran before it. */
import { type Random, randomFrom } from '../random.ts'
import { encodeBody } from './encode.ts'
import { mutate, type Seed } from './mutate.ts'
import { anyForm, type Case } from './requests.ts'

/** How the requests of a batch reach the server: back to back on one connection, or at once on several. */
export type Mode = 'pipelined' | 'parallel'

export interface Batch {
  number: number
  /** Which of the servers it goes to. */
  state: number
  mode: Mode
  cases: Case[]
}

/** More requests at once than this are for the tests of connections. */
const MAX_PARALLEL = 8

export function makeBatch(seed: number, number: number, seeds: readonly Seed[], states: number): Batch {
  const random = randomFrom(Math.imul(seed, 0x9e3779b1) ^ Math.imul(number + 1, 0x85ebca6b))
  const state = number % states
  // A request that is no plain POST is the only one of its batch: most of them end their connection.
  if (random.chance(0.03)) {
    return { number, state, mode: 'pipelined', cases: [{ ...makeCase(random, seeds), form: anyForm(random) }] }
  }
  const mode = random.pick(['pipelined', 'parallel'] as const)
  const cases = Array.from({ length: 1 + random.below(mode === 'parallel' ? MAX_PARALLEL : 16) }, () =>
    makeCase(random, seeds),
  )
  // One body twice in one batch: what goes wrong once may go wrong for both together.
  if (random.chance(0.1) && cases[0]) cases.push({ ...cases[0] })
  return { number, state, mode, cases: cases.slice(0, mode === 'parallel' ? MAX_PARALLEL : 16) }
}

function makeCase(random: Random, seeds: readonly Seed[]): Case {
  const seed = random.pick(seeds)
  const review = random.chance(0.02) ? seed.review : mutate(seed, random, seeds)
  const path = random.chance(0.02) ? random.pick(seeds).path : seed.path
  return { path, body: encodeBody(review, random) }
}
