import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import type { Results } from '../../test/e2e/matrix/report.ts'
import { scenarios } from '../../test/e2e/matrix/scenarios.ts'
import { runWords } from './cli.fake.ts'
import { SUPPORTED_VERSIONS } from './version.ts'

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
const data = { version, commit: 'unknown', node: process.version, supported: SUPPORTED_VERSIONS }

test.each([{ words: ['version'] }, { words: ['--version'] }])('$words prints all versions', async ({ words }) => {
  const { status, stdout, stderr } = await runWords(words)

  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).toBe(
    [
      `Lodestone   ${version}`,
      'Commit      unknown',
      `Node.js     ${process.versions.node}`,
      `Kubernetes  ${SUPPORTED_VERSIONS.kubernetes.join(', ')} (tested)`,
      `Karmada     ${SUPPORTED_VERSIONS.karmada.join(', ')} (tested)`,
      '',
    ].join('\n'),
  )
})

test.each([
  { words: ['version', '-o', 'json'], read: parse },
  { words: ['--version', '-o', 'json'], read: parse },
  { words: ['version', '-o=json'], read: parse },
  { words: ['version', '--output', 'yaml'], read: parse },
])('$words prints the same for scripts; JSON is YAML too', async ({ words, read }) => {
  const { status, stdout } = await runWords(words)
  expect({ status, data: read(stdout) }).toEqual({ status: 0, data })
})

test('the versions that the end-to-end tests build are supported versions', () => {
  const modules = readFileSync('test/e2e/binaries/go.mod', 'utf8')
  const minorOf = (module: string) => new RegExp(`^\\t${module} v(\\d+\\.\\d+)\\.`, 'm').exec(modules)?.[1]
  expect(SUPPORTED_VERSIONS.kubernetes).toContain(minorOf('k8s.io/kubernetes'))
  expect(SUPPORTED_VERSIONS.karmada).toContain(minorOf('github.com/karmada-io/karmada'))
})

describe('a supported version', () => {
  const results = JSON.parse(readFileSync('test/e2e/matrix/results.json', 'utf8')) as Results
  /** The pairs with which every scenario passed. */
  const passed = Object.keys(results).filter((pair) =>
    scenarios.every(({ name }) => results[pair]?.[name]?.failed === 0 && results[pair][name].passed > 0),
  )

  test.each([
    { project: 'kubernetes', place: 0 },
    { project: 'karmada', place: 1 },
  ] as const)('of $project has passed every scenario', ({ project, place }) => {
    const tested = passed.map((pair) => pair.split('+')[place]?.split('.').slice(0, 2).join('.'))
    expect(SUPPORTED_VERSIONS[project].filter((minor) => !tested.includes(minor))).toEqual([])
  })
})

test('the chart has the version of the package', () => {
  const chart = parse(readFileSync('charts/lodestone/Chart.yaml', 'utf8')) as { version: string; appVersion: string }
  expect(chart).toMatchObject({ version, appVersion: version })
})
