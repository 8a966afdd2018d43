/** The container image: the Dockerfile and .dockerignore agree with `npm run image` and the chart. */
import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { PinnedBase } from '../.ci/release/base.ts'
import { settingsOf } from '../.ci/release/image.ts'

const instructions = readFileSync('Dockerfile', 'utf8')
  .split('\n')
  .filter((line) => /^[A-Z]+ /.test(line))
const argumentsOf = (name: string) =>
  instructions.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1))
const { engines, devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  engines: { node: string }
  devDependencies: { node: string }
}
const settings = settingsOf('1.2.3', 'abc')

test('copies the files that .dockerignore lets in, and no others', () => {
  const [all, ...allowed] = readFileSync('.dockerignore', 'utf8').trim().split('\n')
  const sources = argumentsOf('COPY')
    .filter((words) => !words.startsWith('--from'))
    .flatMap((words) => words.split(' ').slice(0, -1))

  expect(all).toBe('*')
  expect(sources.sort()).toEqual(allowed.map((pattern) => pattern.replace('!', '')).sort())
  expect(sources.filter((source) => !existsSync(source))).toEqual([])
})

test('builds with the Node that the package requires, by digest, on an empty base', () => {
  const major = /\d+/.exec(engines.node)?.[0]
  expect(argumentsOf('FROM')).toEqual([
    expect.stringMatching(new RegExp(`^node:${major}-[a-z-]+@sha256:[0-9a-f]{64} AS build$`)),
    'scratch',
  ])
})

test('has the files of `npm run image`, and nothing else', () => {
  const [install, files, ...more] = argumentsOf('RUN')
  expect(install).toMatch(/^npm ci /)
  expect(files).toMatch(/^SOURCE_DATE_EPOCH=0 node \.ci\/release\/image\.ts --files \/image$/)
  expect(more).toEqual([])
  expect(argumentsOf('COPY').filter((words) => words.startsWith('--from'))).toEqual(['--from=build /image /'])
})

test('has the settings of `npm run image`', () => {
  const variables = argumentsOf('ENV').flatMap((words) => words.split(' '))
  expect({
    user: argumentsOf('USER').join(' '),
    env: Object.fromEntries(
      variables.map((text) => [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)]),
    ),
    entrypoint: JSON.parse(argumentsOf('ENTRYPOINT').join(' ')),
    command: JSON.parse(argumentsOf('CMD').join(' ')),
    ports: argumentsOf('EXPOSE').flatMap((words) => words.split(' ').map(Number)),
  }).toEqual({ ...settings, labels: undefined })
})

test('runs as a user other than root, by number, as runAsNonRoot of the chart requires', () => {
  expect(settings.user).toMatch(/^[1-9]\d*:[1-9]\d*$/)
  expect(readFileSync('charts/lodestone/templates/deployment.yaml', 'utf8')).toContain('runAsNonRoot: true')
})

test('the base has the Node of package.json, and hashes by package and architecture', () => {
  const base = JSON.parse(readFileSync('.ci/release/base.json', 'utf8')) as PinnedBase
  expect(base.node.version).toBe(devDependencies.node)
  const hash = expect.stringMatching(/^[0-9a-f]{64}$/)
  for (const { sha256 } of [base.node, ...base.debian]) expect(sha256).toEqual({ amd64: hash, arm64: hash })
})
