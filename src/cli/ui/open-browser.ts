/** Opens a link in the browser of the user, with the program of the system for it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** The program with its arguments before the link, by `process.platform`. Each gets the link as one argument, without a shell. */
const PROGRAMS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}
const OTHERS = ['xdg-open'] as const

/** The program may wait for a browser that it started. Then the browser has the link. */
const PATIENCE_MS = 10_000

/** Opens the link. Returns why it could not be opened; undefined if a program took it. The environment has the PATH. */
export async function openBrowser(
  link: string,
  env: Readonly<Record<string, string | undefined>>,
  platform: string = process.platform,
): Promise<string | undefined> {
  const [program, ...words] = PROGRAMS[platform] ?? OTHERS
  const child = spawn(program, [...words, link], { env: { ...env }, stdio: 'ignore', detached: true })
  child.unref()
  try {
    const [code] = await once(child, 'exit', { signal: AbortSignal.timeout(PATIENCE_MS) })
    return code === 0 ? undefined : `${program} ended with ${code ?? 'a signal'}`
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ABORT_ERR') return undefined
    if (code === undefined) throw error
    return code === 'ENOENT' ? `there is no ${program} on the PATH` : (error as Error).message
  }
}
