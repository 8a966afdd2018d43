/** Measures in rounds: several variants in turn, or the CPU time of a function of this process. */
import { setImmediate as nextIteration } from 'node:timers/promises'

/**
 * Measures every variant once a round and returns the results of each. The first variant of a round differs from round to round. Other work
 * of the machine slows all variants alike.
 */
export async function interleave<Variant, Result>(
  variants: Variant[],
  rounds: number,
  measure: (variant: Variant) => Promise<Result>,
): Promise<Result[][]> {
  const results: Result[][] = variants.map(() => [])
  for (let round = 0; round < rounds; round++) {
    const order = variants.map((_, i) => (i + round) % variants.length)
    for (const i of order) results[i]?.push(await measure(variants[i] as Variant))
  }
  return results
}

/** So many calls are made in one iteration of the event loop at most. Log lines are written between the iterations. */
const CALLS_PER_ITERATION = 500

/** Returns the CPU time of one call in ms: the least of several samples, since the compiler and other processes only add to it. */
export async function leastCpuMs(call: () => unknown, { samples = 5, sampleMs = 60 } = {}): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let sample = 0; sample < samples; sample++) {
    const end = performance.now() + sampleMs
    const before = process.threadCpuUsage()
    let calls = 0
    do {
      await call()
      if (++calls % CALLS_PER_ITERATION === 0) await nextIteration()
    } while (performance.now() < end)
    const { user, system } = process.threadCpuUsage(before)
    least = Math.min(least, (user + system) / 1000 / calls)
  }
  return least
}
