// Runs the command `lodestone` of the sources, as a user does.
import { join } from 'node:path'
import { environment } from './peers/runtimes.ts'
import { type CommandResult, runCommand } from './processes.ts'

const repository = join(import.meta.dirname, '..', '..')
/** The file of the command, for Node. */
export const main = join(repository, 'src', 'main.ts')
const timeoutMs = 10 * 60_000

/** Returns how it ended. `env` has variables beside those of the test run. */
export function runLodestone(words: string[], env: Record<string, string> = {}): Promise<CommandResult> {
  const options = { cwd: repository, env: { ...environment(), ...env }, timeoutMs }
  return runCommand(process.execPath, [main, ...words], options)
}

/** Returns what it prints. Throws if it fails. */
export async function lodestoneOutput(words: string[]): Promise<string> {
  const { code, stdout, stderr } = await runLodestone(words)
  if (code !== 0) throw new Error(`lodestone ${words.join(' ')} ended with ${code}: ${stderr}`)
  return stdout
}
