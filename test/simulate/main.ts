// `npm run simulate -- --seed S --steps N` (or `--seconds T`): simulated worlds, each with its own seed, until a guarantee is broken.
// `--log` prints every step; `--survey` and `--until` go on after a failure.
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { shrink } from './shrink.ts'
import { type Played, playWorlds } from './threads.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
    steps: { type: 'string' },
    seconds: { type: 'string' },
    // Guarantees that are not checked, with commas.
    ignore: { type: 'string', default: '' },
    'no-shrink': { type: 'boolean', default: false },
    log: { type: 'boolean', default: false },
    // Users follow plans in every second world.
    stories: { type: 'boolean', default: false },
    // Before some actions, `what-if` is asked what they do, and compared afterwards.
    asks: { type: 'boolean', default: false },
    // With commas: goes on after a failure until one of these guarantees is broken.
    until: { type: 'string' },
    // Prints each broken guarantee once, and counts the others.
    survey: { type: 'boolean', default: false },
  },
})
const maxSteps = Number(values.steps ?? (values.seconds === undefined ? 100_000 : Number.POSITIVE_INFINITY))
const endMs = performance.now() + Number(values.seconds ?? Number.POSITIVE_INFINITY) * 1000
const firstSeed = Number(values.seed)
const { stories, asks, log } = values
const worldOptions = { firstSeed, maxSteps, ignored: values.ignore.split(','), stories, asks, log }

console.log(`simulate: seed ${firstSeed}`)
const startedMs = performance.now()
const broken = new Map<string, number>()
let steps = 0
let worlds = 0
// The steps of one world are printed in a row.
for await (const world of playWorlds(worldOptions, log ? 1 : availableParallelism())) {
  worlds++
  steps += world.actions.length
  await report(world)
  if (steps >= maxSteps || performance.now() >= endMs || !goesOn()) break
}
const seconds = (performance.now() - startedMs) / 1000
const result =
  broken.size > 0 ? `FAILED: ${[...broken].map(([name, count]) => `${name} (${count})`).join(', ')}` : 'no violation'
console.log(
  `simulate: seed ${firstSeed}: ${steps} steps in ${worlds} worlds, ${(steps / seconds).toFixed()} steps/s; ${result}`,
)
process.exitCode = broken.size > 0 ? 1 : 0

function goesOn(): boolean {
  if (values.until !== undefined) return !values.until.split(',').some((guarantee) => broken.has(guarantee))
  return values.survey || broken.size === 0
}

async function report({ seed, config, actions, failure }: Played): Promise<void> {
  if (!failure) return
  const times = broken.get(failure.guarantee) ?? 0
  broken.set(failure.guarantee, times + 1)
  if (times > 0) return
  console.log(`FAILED in world ${seed}: ${failure.message}`)
  if (values['no-shrink']) return
  console.log(
    `reproduce: npm run simulate -- --seed ${seed} --steps ${actions.length}${stories ? ' --stories' : ''}${asks ? ' --asks' : ''}`,
  )
  const fewest = await shrink(config, actions, failure.guarantee)
  console.log(`shrunk from ${actions.length} to ${fewest.length} steps, in ${JSON.stringify(config)}:`)
  for (const action of fewest) console.log(`  ${JSON.stringify(action)}`)
}
