/** Decides what completes a command line: fixed words, files, or names that must be read first. */
import { type Arguments, type Command, type Option, readUnfinished } from '../command.ts'

/** How the shell treats the candidates: the numbers of cobra, which kubectl uses for its plugins too. */
export const DIRECTIVES = { files: 0, noSpace: 2, noFiles: 4, directories: 16 } as const

export interface Candidate {
  value: string
  description?: string
}

/** Which names complete the word, or the part behind `=` of an option. `prefix` is in front of each name. */
export interface NameQuery {
  names: 'namespaces' | 'contexts' | 'kinds' | { kind: string }
  prefix: string
  /** The words before it. */
  given: Arguments
}

export type Completion = { candidates: Candidate[]; directive: number } | NameQuery

const nothing: Completion = { candidates: [], directive: DIRECTIVES.noFiles }

/** Completes the last of the words after the name of the command. Of `--option=value`, only the value, as cobra does. */
export function completeWord(words: readonly string[], command: Command): Completion {
  const word = words.at(-1) ?? ''
  const before = words.slice(0, -1)
  const given = readUnfinished(command, before)
  const pending = pendingOption(before.at(-1) ?? '', command)
  if (pending) return completeValue(pending, given)
  const { option } = splitOption(word)
  if (option !== undefined) {
    const named = pendingOption(option, command)
    return named ? completeValue(named, given) : nothing
  }
  if (word.startsWith('-')) return completeOption(command, before)
  return completeArgument(command, word, given)
}

/** Splits `--option=value` and `-o=value`. Another word is a value. */
export function splitOption(word: string): { option?: string; value: string } {
  const [, option, value] = /^(-[^=]+)=(.*)$/s.exec(word) ?? []
  return option === undefined || value === undefined ? { value: word } : { option, value }
}

interface NamedOption extends Option {
  name: string
}

/** The option of a word that is followed by its value. */
function pendingOption(word: string, { options }: Command): NamedOption | undefined {
  const found = Object.entries(options).find(
    ([name, { type, short }]) => type === 'string' && (word === `--${name}` || (short && word === `-${short}`)),
  )
  return found && { name: found[0], ...found[1] }
}

function completeOption({ options }: Command, before: readonly string[]): Completion {
  const candidates = Object.entries(options)
    .filter(([name, { multiple, short }]) => multiple || !before.some((word) => isOption(word, name, short)))
    .map(([name, { description }]) => ({ value: `--${name}`, description }))
  return { candidates, directive: DIRECTIVES.noFiles }
}

function isOption(word: string, name: string, short: string | undefined): boolean {
  return word === `--${name}` || word.startsWith(`--${name}=`) || (short !== undefined && word === `-${short}`)
}

function completeValue({ name, value, values }: NamedOption, given: Arguments): Completion {
  if (values) {
    return { candidates: values.map((known) => ({ value: known })), directive: DIRECTIVES.noFiles }
  }
  if (value === 'FILE') return { candidates: [], directive: DIRECTIVES.files }
  if (value === 'DIR') return { candidates: [], directive: DIRECTIVES.directories }
  if (value === 'NAMESPACE') return { names: 'namespaces', prefix: '', given }
  return name === 'context' ? { names: 'contexts', prefix: '', given } : nothing
}

function completeArgument({ arguments: values }: Command, word: string, given: Arguments): Completion {
  if (values === undefined) return nothing
  if (values !== 'object') {
    return { candidates: values.map((value) => ({ value })), directive: DIRECTIVES.noFiles }
  }
  const [kind, ...more] = given.positionals
  const slash = word.indexOf('/')
  if (kind === undefined) {
    return slash < 0
      ? { names: 'kinds', prefix: '', given }
      : { names: { kind: word.slice(0, slash) }, prefix: word.slice(0, slash + 1), given }
  }
  return more.length === 0 && !kind.includes('/') ? { names: { kind }, prefix: '', given } : nothing
}
