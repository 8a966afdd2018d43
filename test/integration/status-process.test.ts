/** `lodestone status --watch` as a process: only its watch keeps it alive. */
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { stringify } from 'yaml'
import { makeClaim, makeSource } from '../builders.ts'
import { temporaryFolder } from '../temporary-folder.ts'

test('a watched folder is shown again after a change, until SIGTERM', async () => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'claim.yaml'), stringify(makeClaim()))
  const child = spawn(process.execPath, ['src/main.ts', 'status', '--folder', folder, '--watch'])
  onTestFinished(() => void child.kill('SIGKILL'))
  const output = { text: '', errors: '' }
  child.stdout.on('data', (text) => (output.text += text))
  child.stderr.on('data', (text) => (output.errors += text))
  const ended = new Promise((resolve) => child.once('exit', (code) => resolve(code)))
  await expect
    .poll(() => output, { timeout: 20_000 })
    .toMatchObject({ errors: '', text: expect.stringMatching(/sales +Pending/) })

  writeFileSync(join(folder, 'source.yaml'), stringify(makeSource()))

  await expect.poll(() => output.text, { timeout: 20_000 }).toMatch(/sales +Pending[\s\S]*sales +Bound/)
  child.kill('SIGTERM')
  expect({ code: await ended, errors: output.errors }).toEqual({ code: 0, errors: '' })
}, 60_000)
