/** docs/reference/compatibility.md: its table has the recorded results, and README names only versions that passed. */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { SUPPORTED_VERSIONS } from '../src/cli/version.ts'
import { type Results, resultOf, withTable } from './e2e/matrix/report.ts'
import { scenarios } from './e2e/matrix/scenarios.ts'
import { minorOf, nameOfPair, pairNamed, pairs } from './e2e/matrix/versions.ts'
import { temporaryFolder } from './temporary-folder.ts'

const results = JSON.parse(readFileSync('test/e2e/matrix/results.json', 'utf8')) as Results
const page = readFileSync('docs/reference/compatibility.md', 'utf8')
const date = '2026-01-31'

test('the table has the recorded results', () => {
  expect(withTable(page, results, scenarios)).toBe(page)
})

test('README names only versions that passed every scenario; the guide the oldest ones', () => {
  const listed = (versions: readonly string[]) => `${versions.slice(0, -1).join(', ')} or ${versions.at(-1)}`
  const { kubernetes, karmada } = SUPPORTED_VERSIONS

  expect(readFileSync('README.md', 'utf8').replaceAll(/\s+/g, ' ')).toContain(
    `- Kubernetes ${listed(kubernetes)}, with Karmada ${listed(karmada)}: [tested pairs](docs/reference/compatibility.md).`,
  )
  expect(readFileSync('docs/tutorials/getting-started-hub.md', 'utf8')).toMatch(
    new RegExp(`You need Karmada ${karmada[0]} or newer on\\sKubernetes ${kubernetes[0]} or newer`),
  )
})

test('each scenario is a test file, with tests of its title, and has a row on the page', () => {
  for (const { name, file, title = '' } of scenarios) {
    const path = join('test', 'e2e', `${file}.e2e.test.ts`)
    expect(existsSync(path), path).toBe(true)
    expect(readFileSync(path, 'utf8')).toContain(title)
    expect(page).toMatch(new RegExp(`^\\| ${name} +\\| \\[${file}\\]`, 'm'))
  }
})

describe('a table', () => {
  const tableOf = (found: Results) =>
    withTable('<!-- Written by npm run e2e -- --matrix. -->\nold\n<!-- End of the table. -->\n', found, [
      { name: 'main job', file: 'main-job' },
      { name: 'holds', file: 'holds' },
    ]).split('\n')

  test('has a row for each pair, from the oldest on, with the day of its oldest result', () => {
    const passed = { passed: 3, failed: 0, date }
    const mixed = { passed: 2, failed: 1, date: '2026-01-30' }

    expect(
      tableOf({ '1.31.4+1.17.1': { 'main job': passed, holds: mixed }, '1.9.0+1.16.0': { holds: passed } }),
    ).toEqual([
      '<!-- Written by npm run e2e -- --matrix. -->',
      '',
      '| Kubernetes | Karmada | main job | holds | Date |',
      '| --- | --- | --- | --- | --- |',
      '| 1.9.0 | 1.16.0 | not run | 3 passed | 2026-01-31 |',
      '| 1.31.4 | 1.17.1 | 3 passed | 2 passed, 1 failed | 2026-01-30 |',
      '',
      '<!-- End of the table. -->',
      '',
    ])
  })

  test('is not written to a page that has no place for it', () => {
    expect(() => withTable('# Compatibility', {}, scenarios)).toThrow('the page has no <!-- Written by')
  })
})

test.each([
  { name: 'that passed', report: { success: true, numPassedTests: 3, numFailedTests: 0 }, passed: 3, failed: 0 },
  { name: 'with failed tests', report: { success: false, numPassedTests: 1, numFailedTests: 2 }, passed: 1, failed: 2 },
  { name: 'that did not load', report: { success: false, numPassedTests: 0, numFailedTests: 0 }, passed: 0, failed: 1 },
])('the report of a run $name is counted', ({ report, passed, failed }) => {
  expect(resultOf(report, date)).toEqual({ passed, failed, date })
})

describe('the name of a pair', () => {
  test.each(pairs.map(nameOfPair))('%s names it', (name) => {
    expect(nameOfPair(pairNamed(name))).toBe(name)
  })

  test('may be oldest: the first, which no other is older than', () => {
    const oldest = pairNamed('oldest')
    expect(Math.min(...pairs.map(({ kubernetes }) => minorOf(kubernetes)))).toBe(minorOf(oldest.kubernetes))
    expect(Math.min(...pairs.map(({ karmada }) => minorOf(karmada)))).toBe(minorOf(oldest.karmada))
  })

  test('that is unknown is rejected with the known ones', () => {
    expect(() => pairNamed('1.2.3+4.5.6')).toThrow('unknown pair 1.2.3+4.5.6; use oldest, 1.28.15+1.16.0, ')
  })
})

test.each([
  { args: ['--matrix', '1.2.3+4.5.6'], message: 'unknown pair 1.2.3+4.5.6; use all, default, oldest, ' },
  { args: ['--pair', 'all'], message: 'unknown pair all; use oldest, ' },
  { args: ['--pair'], message: '--pair needs a value' },
  { args: ['--matrix', '--scenario', 'claims'], message: '--matrix needs a value' },
  { args: ['--scenario', 'claims'], message: '--scenario needs --matrix' },
  { args: ['--pair', 'oldest', '--matrix', 'oldest'], message: '--pair and --matrix exclude each other' },
  {
    args: ['--matrix', 'oldest', '--scenario', 'mainjob'],
    message: 'unknown scenario mainjob; use main job, claims, ',
  },
])('npm run e2e -- $args is rejected', ({ args, message }) => {
  const { status, stderr } = spawnSync(process.execPath, ['test/e2e/run.ts', ...args], { encoding: 'utf8' })
  expect(stderr).toMatch(new RegExp(`^${message.replaceAll('+', '\\+')}.*\n$`))
  expect(status).toBe(2)
})

test('a build without network names what it could not download, and caches nothing', () => {
  const folder = temporaryFolder()
  // As Go does it: the error of this command is on the standard output.
  const go = '#!/bin/sh\n[ "$1" = version ] || { echo \'{"Error":"dial tcp: connection refused"}\'; exit 1; }\n'
  writeFileSync(join(folder, 'go'), go, { mode: 0o755 })
  const script = `const { ensureKubernetesBinaries } = await import('./test/e2e/binaries.ts'); await ensureKubernetesBinaries()`
  const env = {
    ...process.env,
    PATH: `${folder}:${process.env['PATH']}`,
    XDG_CACHE_HOME: folder,
    LODESTONE_E2E_PAIR: 'oldest',
  }

  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    env,
  })

  expect(status).toBe(1)
  expect(stderr).toContain(
    'go mod download -json k8s.io/kubernetes@v1.28.15 ended with 1: {"Error":"dial tcp: connection refused"}',
  )
  const [key = ''] = readdirSync(join(folder, 'lodestone-e2e'))
  expect(readdirSync(join(folder, 'lodestone-e2e', key))).toEqual([])
})

test.each([
  { version: 'Kubernetes v1.28.15\n', minor: 28 },
  { version: '1.37.2', minor: 37 },
])('the minor version of $version is $minor', ({ version, minor }) => {
  expect(minorOf(version)).toBe(minor)
})

test('every built version has its checksum', () => {
  const sums = readFileSync('test/e2e/matrix/versions.sum', 'utf8')
  for (const { kubernetes, karmada } of pairs) {
    expect(sums).toContain(`\nk8s.io/kubernetes v${kubernetes} h1:`)
    expect(sums).toContain(`github.com/karmada-io/karmada v${karmada} h1:`)
  }
})
