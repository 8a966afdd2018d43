// Shrinks a failed list of actions: delta debugging, then one action at a time, until no action can be left out.
import type { Action, WorldConfig } from './actions.ts'
import { replay } from './run.ts'

// Returns the fewest actions found that break the same guarantee. Ends after `limitMs`.
export function shrink(
  config: WorldConfig,
  actions: readonly Action[],
  guarantee: string,
  limitMs = 60_000,
): Promise<Action[]> {
  const endMs = performance.now() + limitMs
  return shrinkWith(actions, async (candidate) => {
    return performance.now() < endMs && (await replay(config, candidate)).failure?.guarantee === guarantee
  })
}

// Returns the fewest actions found for which `fails` is true.
export async function shrinkWith(
  actions: readonly Action[],
  fails: (candidate: readonly Action[]) => Promise<boolean>,
): Promise<Action[]> {
  let smallest = [...actions]
  for (let isSmaller = true; isSmaller; ) {
    isSmaller = false
    for (let size = Math.max(1, smallest.length >> 1); size >= 1; size >>= 1) {
      for (let at = 0; at < smallest.length; ) {
        const candidate = smallest.toSpliced(at, size)
        if (await fails(candidate)) {
          smallest = candidate
          isSmaller = true
        } else at += size
      }
    }
  }
  return smallest
}
