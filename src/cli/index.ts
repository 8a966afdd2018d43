/** The commands, and the way from the user's words to one of them. */
import { ConfigError } from '../app/config.ts'
import { ConnectionConfigError } from '../store/connection.ts'
import { certs } from './certs.ts'
import { check } from './check.ts'
import { type Command, type CommandIo, helpOf, readArguments, UsageError } from './command.ts'
import { explain } from './explain.ts'
import { manifests } from './manifests.ts'
import { mover } from './mover.ts'
import { serve } from './serve.ts'
import { status } from './status.ts'
import { suggest } from './suggest.ts'

export const commands: readonly Command[] = [serve, check, explain, status, manifests, certs, mover]

/**
 * Runs the command that the words name.
 *
 * @returns the exit status: 0 done, 1 refused or failed, 2 the words or the configuration are wrong
 */
export async function runCli(words: readonly string[], io: CommandIo): Promise<number> {
  const [first, second] = words
  const asksForHelp = first === '--help' || first === '-h' || first === 'help'
  const [name, rest] = asksForHelp ? [second, ['--help']] : [first, words.slice(1)]
  if (name === undefined) {
    io.stdout.write(overview())
    return asksForHelp ? 0 : 2
  }
  const command = commands.find((candidate) => candidate.name === name)
  if (!command) {
    io.stderr.write(
      `lodestone: unknown command ${name}${suggest(
        name,
        commands.map((known) => known.name),
      )}\n\n${overview()}`,
    )
    return 2
  }
  if (rest.includes('--help') || rest.includes('-h')) {
    io.stdout.write(helpOf(command))
    return 0
  }
  try {
    return await command.run(readArguments(command, rest), io)
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof ConfigError || error instanceof ConnectionConfigError))
      throw error
    io.stderr.write(`lodestone ${name}: ${error.message}\n`)
    return 2
  }
}

function overview(): string {
  const width = Math.max(...commands.map(({ name }) => name.length))
  return [
    'Lodestone pulls workloads to their data.\n',
    'Usage: lodestone COMMAND [OPTIONS]\n',
    'Commands:',
    ...commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
    "\n'lodestone COMMAND --help' tells more about each.\n",
  ].join('\n')
}
