/** The start of a command: which packages it loads, and its cache of compiled code. Unused modules would take most of the time. */
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { makeFolder } from '../../src/cli/cli.fake.ts'
import { PROCESS_ENVIRONMENT } from './process-environment.ts'

const run = promisify(execFile)

const REPORTER = new URL('./module-reporter.ts', import.meta.url).href

/** Runs a command. Returns the folders of `src` and the packages from which it loads modules. */
async function loadedBy(words: string[]): Promise<{ folders: string[]; packages: string[] }> {
  const report = join(makeFolder(), 'modules')
  const command = ['--import', REPORTER, 'src/main.ts', ...words]
  await run(process.execPath, command, { env: { ...PROCESS_ENVIRONMENT, MODULE_REPORT: report } })
  const urls = readFileSync(report, 'utf8')
  const first = (pattern: RegExp) => [...new Set([...urls.matchAll(pattern)].map(([, name = '']) => name))].sort()
  return { folders: first(/\/src\/(?:(\w+)\/.*)\.ts$/gm), packages: first(/\/node_modules\/((?:@[^/]+\/)?[^/]+)/g) }
}

describe('no package that it does not use is loaded by', () => {
  const folder = ['--folder', 'examples/hub']
  test.each([
    { words: ['--help'], folders: ['base', 'cli', 'store'], packages: [] },
    { words: ['__complete', 'ch'], folders: ['base', 'cli', 'store'], packages: [] },
    { words: ['version'], folders: ['base', 'cli', 'store', 'telemetry'], packages: ['yaml'] },
  ])('$words', async ({ words, folders, packages }) => {
    expect(await loadedBy(words)).toEqual({ folders, packages })
  })

  test.each([
    { words: ['check', '-f', 'examples/hub/claim.yaml', ...folder] },
    { words: ['status', ...folder] },
    { words: ['explain', 'deployment/trainer', '-n', 'demo', ...folder] },
  ])('$words, which needs no client and no server', async ({ words }) => {
    const { packages } = await loadedBy(words)
    expect(packages).toContain('yaml')
    const unused = ['@kubernetes/client-node', 'undici', 'fastify', 'pino', 'pino-pretty', 'prom-client', 'node-forge']
    expect(packages.filter((name) => unused.includes(name))).toEqual([])
  })
})

describe('compiled code is cached', () => {
  /** Runs a command without the cache of the tests. */
  async function start(env: Record<string, string>) {
    const { stdout } = await run(process.execPath, ['src/main.ts', 'version'], { env })
    expect(stdout).toContain('Lodestone')
  }
  test('in the cache directory of the user', async () => {
    const home = makeFolder()
    await start({ HOME: home })
    expect(readdirSync(join(home, '.cache', 'lodestone', 'compiled-code'))).not.toEqual([])
  })

  test('but not without a home, or without a directory that can be written', async () => {
    const home = makeFolder()
    writeFileSync(join(home, '.cache'), '')
    await start({})
    await start({ HOME: home })
    expect(readdirSync(home)).toEqual(['.cache'])
  })
})
