/**
 * `npm run fuzz -- --seed S --seconds N`: mutated reviews over HTTPS to `lodestone serve --folder`, with claims and without. A failure
 * prints its seed, its batch and a minimized body; `--batch B` sends that batch alone.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { endProcess } from '../../src/cli/end-process.ts'
import { openFolderStore } from '../../src/store/folder/folder.ts'
import { cachedKinds } from '../../src/store/kinds/cached-kinds.ts'
import { type Batch, makeBatch } from './batches.ts'
import { minimize } from './minimize.ts'
import type { Wrong } from './oracle.ts'
import type { Case } from './requests.ts'
import { Runner } from './runner.ts'
import { ServerProcess } from './server-process.ts'
import { readSeeds, stateWithClaims, stateWithoutClaims, writeFolder } from './state.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    seconds: { type: 'string', default: '60' },
    /** Ends when so many bodies were sent, if that is earlier. */
    bodies: { type: 'string' },
    /** Sends this batch and no other. */
    batch: { type: 'string' },
  },
})
const seed = Number(values.seed)
const only = values.batch === undefined ? undefined : Number(values.batch)
const maxBodies = Number(values.bodies ?? Number.POSITIVE_INFINITY)
const MINIMIZE_MS = 60_000
const REPORT_MS = 60_000

const work = mkdtempSync(join(tmpdir(), 'lodestone-fuzz-'))
const seeds = readSeeds()
const started = Date.now()
const runners = await Promise.all([stateWithClaims(), stateWithoutClaims()].map(startRunner))
let closing = ''
let failure: { batch: Batch; wrong: Wrong; runner: Runner } | undefined
try {
  const reporter = setInterval(() => console.log(summary()), REPORT_MS)
  await Promise.all(runners.map(runBatches))
  clearInterval(reporter)
  if (failure) await explain(failure)
  closing = summary()
} finally {
  for (const runner of runners) runner.close()
  await Promise.all(runners.map(({ server }) => server.stop()))
  rmSync(work, { recursive: true, force: true })
}
console.log(`fuzz: seed ${seed}: ${closing}; ${failure ? 'FAILED' : 'no failure'}`)
await endProcess(failure ? 1 : 0)

async function startRunner(objects: ReturnType<typeof stateWithClaims>, index: number): Promise<Runner> {
  const folder = writeFolder(join(work, `state-${index}`), objects)
  const server = new ServerProcess(folder, join(work, `server-${index}`))
  const store = openFolderStore({ directory: folder, kinds: cachedKinds, watch: false })
  await Promise.all([server.start(), store.start(new AbortController().signal)])
  return new Runner(server, store)
}

/** Every runner takes the batches of its server in order, so that a seed says what each server saw. */
async function runBatches(runner: Runner, index: number): Promise<void> {
  const end = started + Number(values.seconds) * 1000
  for (let number = only ?? index; !failure; number += runners.length) {
    const batch = makeBatch(seed, number, seeds, runners.length)
    if (batch.state === index) {
      const wrong = await runner.run(batch.mode, batch.cases)
      if (wrong) failure ??= { batch, wrong, runner }
    }
    runner.server.emptyLog()
    if (only !== undefined || Date.now() > end || bodiesSent() >= maxBodies) return
  }
}

async function explain({ batch, wrong, runner }: NonNullable<typeof failure>): Promise<void> {
  console.log(`FAILED: ${wrong.kind}: ${wrong.message}`)
  console.log(`reproduce: npm run fuzz -- --seed ${seed} --batch ${batch.number}`)
  const fails = async (candidate: readonly Case[]) => {
    if (!runner.server.isRunning) await runner.server.start()
    return (await runner.run(batch.mode, candidate))?.kind === wrong.kind
  }
  const alone = wrong.culprit && (await fails([wrong.culprit])) ? [wrong.culprit] : batch.cases
  const cases = await minimize({ cases: alone, limitMs: MINIMIZE_MS, fails })
  console.log(`minimized, sent ${batch.mode}:`)
  for (const { path, body, form } of cases) {
    const shown = body.length > 4_000 ? `${body.toString('utf8', 0, 4_000)}… (${body.length} bytes)` : body.toString()
    console.log(`  POST ${path}${form === undefined ? '' : ` (${form})`} ${shown}`)
  }
  const file = join(tmpdir(), `lodestone-fuzz-${seed}-${batch.number}.json`)
  writeFileSync(
    file,
    JSON.stringify(cases.map(({ path, body, form }) => ({ path, form, body: body.toString('base64') }))),
  )
  console.log(`  its bytes are in ${file}`)
}

function bodiesSent(): number {
  return runners.reduce((sum, { bodies }) => sum + bodies, 0)
}

function summary(): string {
  const statuses = new Map<number, number>()
  for (const runner of runners)
    for (const [status, count] of runner.statuses) statuses.set(status, (statuses.get(status) ?? 0) + count)
  const counts = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status || 'closed'}: ${count}`)
  const memory = runners.map(({ server }) => `${server.memoryMiB().peak.toFixed()} MiB`)
  const share = Math.max(...runners.map(({ longestShare }) => longestShare))
  const seconds = (Date.now() - started) / 1000
  return `${bodiesSent()} bodies in ${seconds.toFixed()} s (${counts.join(', ')}); servers peaked at ${memory.join(' and ')}; longest stall ${(100 * share).toFixed()} % of its limit`
}
