/**
 * Runs the end-to-end tests with vitest, which gets all other arguments.
 *
 *     npm run e2e -- --pair PAIR        with the programs of a pair of versions, such as 1.28.15+1.16.0 or `oldest`
 *     npm run e2e -- --matrix PAIR      the scenarios of a pair, of `default` or of `all`; writes docs/reference/compatibility.md
 *     npm run e2e -- --matrix PAIR --scenario NAME
 */
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { modulePaths } from './matrix/go-module.ts'
import { type Results, resultOf, withTable } from './matrix/report.ts'
import { type Scenario, scenarios } from './matrix/scenarios.ts'
import { nameOfPair, PAIR_VARIABLE, type Pair, pairNamed, pairs } from './matrix/versions.ts'

const root = join(import.meta.dirname, '..', '..')
const resultsFile = join(import.meta.dirname, 'matrix', 'results.json')
const page = join(root, 'docs', 'reference', 'compatibility.md')

/** Removes an option from the arguments and returns its value. Throws if the value is missing. */
function takeOption(args: string[], name: string): string | undefined {
  const index = args.indexOf(name)
  if (index < 0) return undefined
  const [, value] = args.splice(index, 2)
  if (value === undefined || value.startsWith('-')) throw new RangeError(`${name} needs a value`)
  return value
}

async function vitest(args: string[], pair: Pair | undefined): Promise<number> {
  // With this Node: the one on the PATH may be older.
  const program = [join(root, 'node_modules', 'vitest', 'vitest.mjs'), 'run', '--project', 'e2e']
  const env = { ...process.env, ...(pair && { [PAIR_VARIABLE]: nameOfPair(pair) }) }
  const child = spawn(process.execPath, [...program, ...args], { cwd: root, env, stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => child.kill(signal))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => resolve(code ?? 1))
  })
}

/** Runs the scenarios of a pair, one after the other, and records each result. Returns the number of scenarios that failed. */
async function runScenarios(pair: Pair | undefined, chosen: readonly Scenario[], args: string[]): Promise<number> {
  const name = nameOfPair(pair ?? (await defaultPair()))
  let failed = 0
  for (const { name: scenario, file, title } of chosen) {
    console.log(`${name}: ${scenario}`)
    const folder = await mkdtemp(join(tmpdir(), 'lodestone-matrix-'))
    try {
      const report = join(folder, 'report.json')
      const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
      const titles = title === undefined ? [] : ['--testNamePattern', title]
      await vitest([`test/e2e/${file}.e2e.test.ts`, ...titles, ...reporters, ...args], pair)
      const result = resultOf(JSON.parse(await readFile(report, 'utf8')), new Date().toISOString().slice(0, 10))
      if (result.failed > 0) failed++
      await record(name, scenario, result)
    } finally {
      await rm(folder, { recursive: true })
    }
  }
  return failed
}

async function record(pair: string, scenario: string, result: Results[string][string]): Promise<void> {
  const results = JSON.parse(await readFile(resultsFile, 'utf8')) as Results
  results[pair] = { ...results[pair], [scenario]: result }
  await writeFile(resultsFile, `${JSON.stringify(results, null, 2)}\n`)
  await writeFile(page, withTable(await readFile(page, 'utf8'), results, scenarios))
}

/** The versions that a test run uses without a pair. */
async function defaultPair(): Promise<Pair> {
  const goMod = await readFile(join(import.meta.dirname, 'binaries', 'go.mod'), 'utf8')
  const versionOf = (path: string) => goMod.split(`${path} v`)[1]?.split(/\s/)[0] ?? ''
  return { kubernetes: versionOf(modulePaths.kubernetes), karmada: versionOf(modulePaths.karmada) }
}

function pairsOf(name: string): (Pair | undefined)[] {
  if (name === 'all') return [undefined, ...pairs]
  return name === 'default' ? [undefined] : [pairNamed(name, ['all', 'default'])]
}

function scenariosOf(name: string | undefined): readonly Scenario[] {
  const chosen = scenarios.filter((scenario) => name === undefined || scenario.name === name)
  if (chosen.length > 0) return chosen
  throw new RangeError(`unknown scenario ${name}; use ${scenarios.map((scenario) => scenario.name).join(', ')}`)
}

/** Returns the exit status: 2 for invalid arguments. */
async function main(args: string[]): Promise<number> {
  let chosen: { pair: Pair | undefined; matrix: (Pair | undefined)[] | undefined; scenarios: readonly Scenario[] }
  try {
    const [pair, matrix, scenario] = ['--pair', '--matrix', '--scenario'].map((name) => takeOption(args, name))
    if (matrix !== undefined && pair !== undefined) throw new RangeError('--pair and --matrix exclude each other')
    if (matrix === undefined && scenario !== undefined) throw new RangeError('--scenario needs --matrix')
    chosen = {
      pair: pair === undefined ? undefined : pairNamed(pair),
      matrix: matrix === undefined ? undefined : pairsOf(matrix),
      scenarios: scenariosOf(scenario),
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    console.error(error.message)
    return 2
  }
  if (!chosen.matrix) return vitest(args, chosen.pair)
  let failed = 0
  for (const pair of chosen.matrix) failed += await runScenarios(pair, chosen.scenarios, args)
  return failed > 0 ? 1 : 0
}

process.exitCode = await main(process.argv.slice(2))
