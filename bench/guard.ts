/**
 * `npm run bench:guard`: compares figures of the benchmarks with the bounds in guard.json, and exits with 1 if one is outside of its bound.
 * `-- --calibrate` measures five times and writes the bounds. `-- --only latency` does both for one benchmark alone.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { CALIBRATION_RUNS, type Calibration, type Check, calibrate, check, type Figure } from './harness/bounds.ts'
import { log, machine, print, table } from './harness/report.ts'

/** The benchmarks with their options: what ends in ten minutes together. */
const BENCHMARKS = {
  admission: ['--rounds', '6', '--starts', '1', '--claims', '3000', '--bindings', '30000'],
  latency: ['--rounds', '20'],
  mover: ['--rounds', '5', '--gib', '1', '--files', '5000'],
}
type Benchmark = keyof typeof BENCHMARKS
type Calibrations = Partial<Record<Benchmark, Calibration>>

const FILE = join(import.meta.dirname, 'guard.json')
const CALIBRATE = 'calibrate with npm run bench:guard -- --calibrate'
/** A benchmark that hangs does not keep its caller. */
const TIMEOUT_MS = 600_000

const { values } = parseArgs({ options: { calibrate: { type: 'boolean', default: false }, only: { type: 'string' } } })
const chosen = Object.keys(BENCHMARKS).filter((name) => [undefined, name].includes(values.only)) as Benchmark[]
if (chosen.length === 0)
  throw new RangeError(`unknown benchmark ${values.only}; use ${Object.keys(BENCHMARKS).join(', ')}`)
if (values.calibrate) await writeBounds()
else process.exitCode = await compareWithBounds()

/** Returns the exit status. */
async function compareWithBounds(): Promise<number> {
  const calibrations = readBounds()
  const checks: Check[] = []
  for (const benchmark of chosen) {
    const found = check(await measure(benchmark), calibrations[benchmark] ?? { machine: '', figures: {} })
    checks.push(...found.map((one) => ({ ...one, name: `${benchmark}: ${one.name}` })))
  }
  const rows = checks.map(({ name, value, better, bound, problem }) => {
    return [name, textOf(value), `${better === 'higher' ? '≥' : '≤'} ${textOf(bound)}`, problem ?? 'ok']
  })
  const machines = new Set(chosen.map((benchmark) => calibrations[benchmark]?.machine ?? 'no machine'))
  print(`calibrated on ${[...machines].join('; ')}`, table(['figure', 'measured', 'bound', 'result'], rows))
  const problems = checks.filter(({ problem }) => problem !== undefined)
  for (const { name, value, bound, problem } of problems) {
    console.log(`failed: ${name} ${problem} (measured: ${textOf(value)}, bound: ${textOf(bound)})`)
  }
  if (problems.length > 0) console.log(`look for what became slower; if the change is intended, ${CALIBRATE}`)
  return problems.length > 0 ? 1 : 0
}

/** Replaces the calibration of the chosen benchmarks. */
async function writeBounds(): Promise<void> {
  const calibrations = existsSync(FILE) ? readBounds() : {}
  const runs = new Map<Benchmark, Figure[][]>(chosen.map((benchmark) => [benchmark, []]))
  for (let run = 1; run <= CALIBRATION_RUNS; run++) {
    log(`calibration run ${run} of ${CALIBRATION_RUNS}`)
    // One after the other, so that what disturbs the machine for a while does not disturb all runs of one benchmark.
    for (const [benchmark, figures] of runs) figures.push(await measure(benchmark))
  }
  for (const [benchmark, figures] of runs) calibrations[benchmark] = calibrate(machine(), figures)
  // The five values of a figure are on one line, as the formatter of the repository writes them.
  const onOneLine = (list: string) => JSON.stringify(JSON.parse(list)).replaceAll(',', ', ')
  const text = JSON.stringify(calibrations, null, 2).replaceAll(/\[[^\]]*\]/g, onOneLine)
  writeFileSync(FILE, `${text}\n`)
  log(`the bounds are written to ${FILE}`)
}

function readBounds(): Calibrations {
  if (existsSync(FILE)) return JSON.parse(readFileSync(FILE, 'utf8'))
  throw new Error(`there are no bounds: ${FILE} does not exist; ${CALIBRATE}`)
}

/** Runs a benchmark and returns the figures that it reports. Its tables go to stderr. */
async function measure(benchmark: Benchmark): Promise<Figure[]> {
  const child = fork(join(import.meta.dirname, `${benchmark}.ts`), BENCHMARKS[benchmark], {
    stdio: ['ignore', 2, 2, 'ipc'],
    timeout: TIMEOUT_MS,
  })
  const figures: Figure[] = []
  child.on('message', (reported) => figures.push(...(reported as Figure[])))
  const [status, signal] = await once(child, 'exit')
  if (status !== 0) throw new Error(`the benchmark ${benchmark} ended with ${status ?? signal}; see its output above`)
  return figures
}

function textOf(value: number | undefined): string {
  return value === undefined ? 'none' : String(Number(value.toPrecision(3)))
}
