/** The package: what `npm pack` puts into it, and the commands that it installs. */
import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { installPackage } from '../installed-package.ts'

let prefix: string
let installed: string
let files: string[]

beforeAll(async () => {
  prefix = mkdtempSync(join(tmpdir(), 'lodestone-package-'))
  installed = await installPackage(prefix)
  files = globSync('**/*', { cwd: installed, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(installed.length + 1))
}, 240_000)
afterAll(() => rmSync(prefix, { recursive: true, force: true }))

/** Runs an installed command in the folder of the prefix, with this Node first in the PATH. */
function command(name: string, ...words: string[]) {
  const path = [join(prefix, 'bin'), dirname(process.execPath), process.env['PATH']].join(delimiter)
  const { status, stdout, stderr } = spawnSync(name, words, {
    cwd: prefix,
    env: { PATH: path, HOME: prefix },
    encoding: 'utf8',
  })
  return { status, stdout, stderr }
}

describe('the package', () => {
  test('has the build, the chart, examples, pages, license and README, and nothing else', () => {
    const [own, built] = [files.filter((file) => !file.startsWith('dist/')), files.filter((file) => /^dist/.test(file))]
    expect(own.filter((file) => !/^(charts|docs|examples)\//.test(file)).sort()).toEqual([
      'LICENSE',
      'README.md',
      'bin/complete.cjs',
      'bin/lodestone.cjs',
      'build/page/icon.svg',
      'build/page/index.html',
      'build/page/main.js',
      'build/page/style.css',
      'package.json',
    ])
    expect(built).toContain('dist/main.js')
    expect(
      built.filter((file) => !/\.(js|json)$|^dist\/commit$/.test(file) || /\.(test|suite|fake)\./.test(file)),
    ).toEqual([])
  })

  test('has less than 5 MB', () => {
    const bytes = files.reduce((sum, file) => sum + statSync(join(installed, file)).size, 0)
    expect(bytes).toBeLessThan(5_000_000)
    expect(bytes).toBeGreaterThan(500_000)
  })
})

describe.each(['lodestone', 'kubectl-lodestone'])('the installed command %s', (name) => {
  test('prints the CRDs', () => {
    const { status, stdout, stderr } = command(name, 'manifests', 'crds')

    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    const crds = globSync('charts/lodestone/files/crds/*.yaml').sort()
    expect(stdout).toBe(crds.map((file) => readFileSync(file, 'utf8').replace(/^#.*\n/, '')).join('---\n'))
  })

  test('explains a workload of the examples', () => {
    const folder = join(installed, 'examples', 'hub')

    const { status, stdout, stderr } = command(name, 'explain', 'deployment/trainer', '-n', 'demo', '--folder', folder)

    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toContain('member2')
  })

  test('has the exit status 2 for an unknown command', () => {
    expect(command(name, 'chek')).toMatchObject({ status: 2, stdout: '' })
  })
})

describe('an older Node', () => {
  /** Runs the entry point with another version of Node.js. */
  function startWith(version: string) {
    const file = join(installed, 'bin', 'lodestone.cjs')
    const printed: string[] = []
    const stderr = { write: (text: string) => printed.push(text) }
    const older = { versions: { node: version }, version: `v${version}`, stderr, exitCode: 0 }
    runInNewContext(readFileSync(file, 'utf8').replace(/^#!.*/, ''), {
      process: older,
      require: createRequire(file),
      __dirname: dirname(file),
    })
    return { printed, exitCode: older.exitCode }
  }

  test.each(['10.24.1', '20.20.2', '23.11.0'])('%s: one line names the required version, exit status 1', (version) => {
    const line = `lodestone: Node.js 24 or newer is required, and this is v${version}; install a newer Node.js, or put it first in the PATH\n`
    expect(startWith(version)).toEqual({ printed: [line], exitCode: 1 })
  })

  test('can read the entry point: it has no module syntax and no prefix node:', () => {
    const text = readFileSync(join(installed, 'bin', 'lodestone.cjs'), 'utf8')
    expect(text).toMatch(/^#!\/usr\/bin\/env node\n/)
    expect(text).not.toMatch(/require\('node:|^import .* from|\?\?|\?\./m)
  })
})
