/** The container image: the Dockerfile and .dockerignore agree with the package and the chart. */
import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const instructions = readFileSync('Dockerfile', 'utf8')
  .split('\n')
  .filter((line) => /^[A-Z]+ /.test(line))
const argumentsOf = (name: string) =>
  instructions.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1))
const {
  engines: { node },
  scripts,
} = JSON.parse(readFileSync('package.json', 'utf8')) as { engines: { node: string }; scripts: Record<string, string> }

test('copies the files that .dockerignore lets in, and no others', () => {
  const [all, ...allowed] = readFileSync('.dockerignore', 'utf8').trim().split('\n')
  const sources = argumentsOf('COPY')
    .filter((words) => !words.startsWith('--from'))
    .flatMap((words) => words.split(' ').slice(0, -1))

  expect(all).toBe('*')
  expect(sources.sort()).toEqual(allowed.map((pattern) => pattern.replace('!', '')).sort())
  expect(sources.filter((source) => !existsSync(source))).toEqual([])
})

test('builds and runs with the Node that the package requires', () => {
  const major = /\d+/.exec(node)?.[0]

  const images = argumentsOf('FROM')
  expect(images).toHaveLength(2)
  for (const image of images) expect(image).toMatch(new RegExp(`^node:${major}-`))
})

test('compiles as the package does, with the commit, and without dev dependencies', () => {
  const compile = /^tsc -p \S+/.exec(scripts['build'] ?? '')?.[0]
  const [install, build, ...more] = argumentsOf('RUN')

  expect(install).toMatch(/^npm ci /)
  expect(build?.split(' && ')).toEqual([
    `npx ${compile}`,
    'echo "$COMMIT" > dist/commit',
    'npm prune --omit=dev --ignore-scripts',
  ])
  expect(scripts['build']).toContain('> dist/commit')
  expect(more).toEqual([])
})

test('runs as a user other than root, by number, as runAsNonRoot of the chart requires', () => {
  expect(argumentsOf('USER')).toEqual([expect.stringMatching(/^[1-9]\d*:[1-9]\d*$/)])
  expect(readFileSync('charts/lodestone/templates/deployment.yaml', 'utf8')).toContain('runAsNonRoot: true')
})

test('starts the entry point of the build', () => {
  const [entry] = argumentsOf('ENTRYPOINT')

  expect(JSON.parse(entry ?? '')).toEqual(['node', 'dist/main.js'])
  expect(existsSync('src/main.ts')).toBe(true)
})
