import { chmodSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeFolder } from '../cli.fake.ts'
import { openBrowser } from './open-browser.ts'
import { openPage } from './ui.fake.ts'

const LINK = 'http://127.0.0.1:40123/open?token=a-b_c'

/** A PATH with a program that writes its arguments into a file, and ends with a status. */
function makeProgram(name: string, status = 0): { env: Record<string, string>; calls: () => string } {
  const folder = makeFolder({ [name]: `#!/bin/sh\nprintf '%s\\n' "$@" > "${'$'}{0%/*}/calls"\nexit ${status}\n` })
  chmodSync(join(folder, name), 0o755)
  return { env: { PATH: folder }, calls: () => readFileSync(join(folder, 'calls'), 'utf8') }
}

test.each([
  { platform: 'linux', program: 'xdg-open', words: [LINK] },
  { platform: 'darwin', program: 'open', words: [LINK] },
  { platform: 'win32', program: 'rundll32', words: ['url.dll,FileProtocolHandler', LINK] },
])('$program of $platform gets the link as one argument', async ({ platform, program, words }) => {
  const { env, calls } = makeProgram(program)
  expect(await openBrowser(LINK, env, platform)).toBeUndefined()
  expect(calls()).toBe(`${words.join('\n')}\n`)
})

test('a missing program is a sentence', async () => {
  expect(await openBrowser(LINK, { PATH: makeFolder() }, 'linux')).toBe('there is no xdg-open on the PATH')
})

test('a program that fails is a sentence', async () => {
  expect(await openBrowser(LINK, makeProgram('xdg-open', 3).env, 'linux')).toBe('xdg-open ended with 3')
})

test('the command goes on if no browser can be opened', async () => {
  const page = await openPage([], ['--open'], { PATH: makeFolder() })
  await expect.poll(page.errors).toMatch(/open the page yourself/)
  expect((await page.send('/v1')).status).toBe(200)
})
