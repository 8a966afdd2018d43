// The page in a browser, until the end of a test.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import { PROJECT } from './chromium.ts'

// Starts `lodestone ui` until the end of the test, and returns the printed link. Throws with its errors if it ends.
export async function servePage(words: readonly string[]): Promise<{ link: string; stop: () => Promise<void> }> {
  const child = spawn(process.execPath, ['src/main.ts', 'ui', ...words], { cwd: PROJECT })
  const ended = once(child, 'exit')
  const stop = async () => {
    child.kill('SIGTERM')
    await ended
  }
  onTestFinished(stop)
  let errors = ''
  child.stderr.on('data', (chunk) => {
    errors += chunk
  })
  let text = ''
  for await (const chunk of child.stdout) {
    text += chunk
    const [link] = /https?:\S+/.exec(text) ?? []
    if (link !== undefined) return { link, stop }
  }
  await ended
  throw new Error(errors)
}

// Opens the link in a browser of its own until the end of the test. An error of a script in the page fails the test.
export async function openPage(browser: Browser, link: string, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext(options)
  onTestFinished(() => context.close())
  context.setDefaultTimeout(120_000)
  const page = await context.newPage()
  const errors: string[] = []
  page.on('pageerror', ({ message }) => errors.push(message))
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()))
  onTestFinished(() => expect(errors.filter((text) => !/net::ERR_|status of (401|422|502)/.test(text))).toEqual([]))
  await page.goto(link)
  return page
}
