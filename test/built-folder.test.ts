// The cache of the programs that the end-to-end tests build.
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { builtFolder } from './e2e/built-folder.ts'
import { temporaryFolder } from './temporary-folder.ts'

// Other systems have no lock.
const onLinux = test.runIf(process.platform === 'linux')

function makeCache() {
  const cache = temporaryFolder()
  const home = join(cache, 'key')
  const build = (fill: (into: string) => Promise<void>) =>
    builtFolder(join(home, 'programs'), { lock: cache, timeoutMs: 30_000, build: fill })
  return { home, build }
}

test('a folder is built once', async () => {
  const { home, build } = makeCache()
  let builds = 0
  const fill = async (into: string) => {
    builds++
    await writeFile(join(into, 'program'), 'whole')
  }

  await Promise.all([build(fill), build(fill)])
  await build(fill)

  expect(builds).toBe(1)
  expect(readdirSync(home, { recursive: true }).sort()).toEqual(['programs', join('programs', 'program')])
})

test('a build that fails leaves nothing, and the next one begins anew', async () => {
  const { home, build } = makeCache()
  const half = async (into: string) => {
    await writeFile(join(into, 'program'), 'half')
    throw new Error('no network')
  }

  await expect(build(half)).rejects.toThrow('no network')
  expect(readdirSync(home)).toEqual([])
  expect(await build(async () => undefined)).toBe(join(home, 'programs'))
})

onLinux('the next build of a folder deletes the files of a killed build', async () => {
  const { home, build } = makeCache()
  mkdirSync(join(home, '.programs-killed'), { recursive: true })
  writeFileSync(join(home, '.programs-killed', 'program'), 'half')
  mkdirSync(join(home, '.others-running'))

  await build(async () => undefined)

  expect(readdirSync(home).sort()).toEqual(['.others-running', 'programs'])
})
