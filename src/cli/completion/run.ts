/** `lodestone __complete WORDS…`: the hidden command that completion scripts call. It prints candidates, then a directive. */
import { shellWord } from '../../base/shell-word.ts'
import type { Command, CommandIo } from '../command.ts'
import { type Candidate, completeWord, DIRECTIVES, splitOption } from './complete.ts'

/** The commands, which are loaded on demand. */
export interface CommandTable {
  names: readonly string[]
  load(name: string): Promise<Command | undefined>
}

/**
 * Prints a line `VALUE⇥DESCRIPTION` for each candidate, then `:DIRECTIVE`. Candidates begin with the last word, or with its part behind `=` if
 * it is an option. This is the protocol of cobra.
 */
export async function runComplete(given: readonly string[], io: CommandIo, commands: CommandTable): Promise<number> {
  const words = given.map((word) => expand(word, io.env))
  const { value: word } = splitOption(words.at(-1) ?? '')
  const { candidates, directive } = await complete(words, io, commands)
  // bash writes a value unquoted into the command line, and would run the commands in it. Names of contexts, of Roles, and of objects in a
  // folder may have any character.
  const lines = candidates
    .filter(({ value }) => value.startsWith(word) && shellWord(value) === value)
    .map(({ value, description }) => (description ? `${value}\t${description}` : value))
  io.stdout.write([...lines, `:${directive}`, ''].join('\n'))
  return 0
}

/** Replaces a leading `~/` and exported variables, which the shell expands only when it runs the command. */
function expand(word: string, env: CommandIo['env']): string {
  return word
    .replace(/^~(?=\/)/, () => env['HOME'] ?? '~')
    .replaceAll(/\$(?:(\w+)|\{(\w+)\})/g, (text, name, braced) => env[name ?? braced] ?? text)
}

async function complete(
  words: readonly string[],
  io: CommandIo,
  { names, load }: CommandTable,
): Promise<{ candidates: Candidate[]; directive: number }> {
  const [name = '', ...rest] = words
  if (rest.length === 0 || (name === 'help' && rest.length === 1)) {
    return { candidates: names.map((value) => ({ value })), directive: DIRECTIVES.noFiles }
  }
  const command = await load(name)
  if (!command) return { candidates: [], directive: DIRECTIVES.noFiles }
  const completion = completeWord(rest, command)
  if ('candidates' in completion) return completion
  // Only names need the modules that read manifests and API servers.
  const { readNames } = await import('./names.ts')
  const found = await readNames(completion, io)
  const isKind = completion.names === 'kinds'
  return {
    candidates: found.map((value) => ({ value: `${completion.prefix}${value}${isKind ? '/' : ''}` })),
    directive: DIRECTIVES.noFiles | (isKind ? DIRECTIVES.noSpace : 0),
  }
}
