/** Asks the YAML reader of kubectl what it reads: test/data/yaml/kubectl.json has these answers, which the unit tests use. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { recorded } from '../data/yaml/recorded.ts'
import { ensureYamlReader } from './binaries.ts'
import { buildTimeoutMs } from './go-build.ts'

let answers: { documents: unknown[]; error?: string }[] = []
const folder = mkdtempSync(join(tmpdir(), 'lodestone-yaml-'))

beforeAll(async () => {
  const reader = await ensureYamlReader()
  const files = recorded.map(({ text }, i) => {
    const file = join(folder, `${i}.yaml`)
    writeFileSync(file, text)
    return file
  })
  const lines = execFileSync(reader, files, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
    .trimEnd()
    .split('\n')
  // JSON of JavaScript has no -0.
  answers = lines.map((line) => JSON.parse(JSON.stringify(JSON.parse(line))))
}, buildTimeoutMs)
afterAll(() => rmSync(folder, { recursive: true }))

test.each(recorded.map((each, i) => ({ ...each, i })))('kubectl reads $name as recorded', ({ i, documents }) => {
  const answer = answers[i]

  expect(answer?.error === undefined ? answer?.documents : undefined).toEqual(documents)
})
