/** Runs a command with a mistake of a new user, and compares its exit status and its exact message. Words that begin with `@` are files. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { runWords } from '../../src/cli/cli.fake.ts'
import { FILES } from './mistaken-files.ts'

export interface Mistake {
  /** The arguments, separated by spaces. */
  lodestone: string
  /** Default: 2, for invalid arguments or configuration. */
  status?: 0 | 1 | 2
  /** Standard error, without the name of the command and without the reference to its help. */
  says?: string
  /** Standard output; default: nothing. */
  prints?: string
}

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'lodestone-mistakes-'))
  mkdirSync(join(folder, 'empty'))
  for (const [name, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
})
afterAll(() => rmSync(folder, { recursive: true }))

export async function checkMistake({ lodestone, status = 2, says = '', prints = '' }: Mistake): Promise<void> {
  const before = readdirSync(folder, { recursive: true })
  const words = lodestone.split(' ')
  const answer = await runWords(words.map((word) => word.replace(/^@|(?<==)@/, `${folder}/`)))
  const shown = (text: string) => text.replaceAll(`${folder}/`, '@')
  const command = words[0]
  const message = shown(answer.stderr)
    .replaceAll(`lodestone ${command}: `, '')
    .replace(`\nSee 'lodestone ${command} --help'.`, '')

  expect({ status: answer.status, says: message.trimEnd(), prints: shown(answer.stdout).trimEnd() }).toEqual({
    status,
    says,
    prints,
  })
  expect(readdirSync(folder, { recursive: true })).toEqual(before)
}
