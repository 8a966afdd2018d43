// Chooses by weights, with the random numbers of the world.
import type { Random } from '../random.ts'

// Returns one of the items: each with the probability of its share of all weights. Throws if there is none.
export function pickWeighted<T>(items: readonly (readonly [weight: number, item: T])[], random: Random): T {
  let left = random.next() * items.reduce((sum, [weight]) => sum + weight, 0)
  for (const [weight, item] of items) {
    left -= weight
    if (left < 0) return item
  }
  const last = items.at(-1)
  if (!last) throw new Error('nothing to choose from')
  return last[1]
}
