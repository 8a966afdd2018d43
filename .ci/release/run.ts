/** Runs a program. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const execute = promisify(execFile)
const MAX_OUTPUT_BYTES = 64 * 2 ** 20
const TIMEOUT_MS = 10 * 60_000

/** Returns what the program prints. Throws if it fails, or does not end within ten minutes; the message has the end of its output. */
export async function run(program: string, words: readonly string[], options: { cwd?: string } = {}): Promise<string> {
  try {
    const limits = { timeout: TIMEOUT_MS, maxBuffer: MAX_OUTPUT_BYTES }
    return (await execute(program, words, { ...limits, ...options })).stdout
  } catch (error) {
    const { stdout = '', stderr = '', message } = error as { stdout?: string; stderr?: string; message: string }
    const said = (stderr.trim() || stdout.trim() || message).slice(-4000)
    throw new Error(`${program} ${words.slice(0, 3).join(' ')} failed: ${said}`, { cause: error })
  }
}
