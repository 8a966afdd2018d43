/** The shape of a command, and the parser of its arguments. */
import { type ParseArgsConfig, parseArgs, styleText } from 'node:util'
import { defined } from '../base/json.ts'
import { suggest } from '../base/suggest.ts'
import type { Clock } from '../base/time/clock.ts'
import { UserError } from '../base/user-error.ts'

export interface Output {
  /** Bytes are written by commands that write a file to standard output. */
  write(text: string | Uint8Array): unknown
  isTTY?: boolean
  fd?: number
  /** Whether the reader has not taken the last text yet. */
  readonly writableNeedDrain?: boolean
}

/** The environment of a command: output, variables, signal and clocks. */
export interface CommandIo {
  stdout: Output
  stderr: Output
  env: Record<string, string | undefined>
  /** Aborts on SIGINT and SIGTERM. */
  signal: AbortSignal
  now: () => number
  /** For waits. Default: the clock of the system. */
  clock?: Clock
}

export interface Option {
  type: 'string' | 'boolean'
  short?: string
  multiple?: boolean
  /** The name of the value in the help, e.g. FILE. Completion offers files for FILE, folders for DIR, namespaces for NAMESPACE. */
  value?: string
  /** Whether the empty text is a value. Elsewhere it comes from a variable of a script that is not set. */
  mayBeEmpty?: true
  /** The accepted values, for completion. */
  values?: readonly string[]
  description: string
}

/** A command as its file has it. The table of commands adds its name, its summary and `--help`. */
export interface Command {
  /** The arguments in the help, e.g. `-f FILE… [--folder DIR]`. */
  usage: string
  options: Record<string, Option>
  /** Whether positional arguments are accepted. */
  positionals?: boolean
  /** The accepted positional arguments, for completion; `object` for KIND/NAME. */
  arguments?: readonly string[] | 'object'
  examples: { command: string; does: string }[]
  /** Runs the command and returns the exit status. */
  run(args: Arguments, io: CommandIo): Promise<number>
}

export interface NamedCommand extends Command {
  name: string
  summary: string
}

/** Parsed arguments, checked against the options of the command. */
export interface Arguments {
  positionals: string[]
  text(option: string): string | undefined
  texts(option: string): string[]
  flag(option: string): boolean
}

/** Invalid arguments; the message has the remedy. */
export class UsageError extends UserError {
  override name = 'UsageError'
}

/** Parses the arguments of a command. Throws `UsageError` with a suggestion for a mistyped option. */
export function readArguments(command: NamedCommand, words: string[]): Arguments {
  try {
    const { values, positionals } = parseArgs({
      args: withoutShortEquals(command.options, words),
      options: parseOptions(command.options),
      allowPositionals: command.positionals ?? false,
      strict: true,
    })
    refuseEmpty(command.options, values, positionals)
    return argumentsOf(values, positionals)
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new UsageError(explainParseError(error as NodeJS.ErrnoException, command), { cause: error })
  }
}

/** Reads the words of an unfinished command line, for completion. Unknown options and missing values are left out. */
export function readUnfinished({ options }: Command, words: readonly string[]): Arguments {
  const { values, positionals } = parseArgs({
    args: withoutShortEquals(options, words),
    options: parseOptions(options),
    allowPositionals: true,
    strict: false,
  })
  return argumentsOf(values, positionals)
}

function argumentsOf(values: ReturnType<typeof parseArgs>['values'], positionals: string[]): Arguments {
  const texts = (option: string) => [values[option] ?? []].flat().filter((value) => typeof value === 'string')
  return { positionals, texts, text: (option) => texts(option).at(-1), flag: (option) => values[option] === true }
}

/** Throws `UsageError` for an empty value, as in `-n "$NAMESPACE"` without the variable. */
function refuseEmpty(options: Command['options'], values: object, positionals: readonly string[]): void {
  for (const [option, given] of Object.entries(values)) {
    const { value, mayBeEmpty } = options[option] ?? {}
    if (!mayBeEmpty && [given].flat().includes(''))
      throw new UsageError(`--${option} has an empty value; write --${option}=${value}, or omit the option`)
  }
  if (positionals.includes('')) throw new UsageError('an argument is empty; remove it, or give its value')
}

/** Writes `-o=json`, which kubectl accepts too, as `--output=json`. `parseArgs` would take the `=` as part of the value. */
function withoutShortEquals(options: Record<string, Option>, words: readonly string[]): string[] {
  const end = words.indexOf('--')
  return words.map((word, i) => {
    const [, short, value] = /^-([A-Za-z])=(.*)$/s.exec(word) ?? []
    const long = Object.keys(options).find((name) => short !== undefined && options[name]?.short === short)
    return long === undefined || (end !== -1 && i > end) ? word : `--${long}=${value}`
  })
}

function parseOptions(options: Record<string, Option>): NonNullable<ParseArgsConfig['options']> {
  return Object.fromEntries(
    Object.entries(options).map(([name, { type, short, multiple }]) => [
      name,
      defined({ type, short: short || undefined, multiple: multiple || undefined }),
    ]),
  )
}

function explainParseError(error: NodeJS.ErrnoException, { name, options }: NamedCommand): string {
  const unknown = /'(-{1,2}[^']*)'/.exec(error.message)?.[1]
  if (error.code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION' && unknown) {
    const known = Object.keys(options).map((option) => `--${option}`)
    return `unknown option ${unknown}${suggest(unknown, known)}\nSee 'lodestone ${name} --help'.`
  }
  return `${explainMisuse(error, options)}\nSee 'lodestone ${name} --help'.`
}

/** Describes the other errors of `parseArgs`, whose messages name the option or the argument in quotes. */
function explainMisuse({ code, message }: NodeJS.ErrnoException, options: Command['options']): string {
  const [, quoted = ''] = /'([^']*)'/.exec(message) ?? []
  if (code === 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL') return `unexpected argument ${quoted}`
  const byShort = Object.keys(options).find((name) => `-${options[name]?.short}` === quoted)
  const long = byShort ?? /--([\w-]+)/.exec(quoted)?.[1] ?? ''
  const { type, value } = options[long] ?? {}
  if (code !== 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE' || type === undefined) return message
  if (type === 'boolean') return `--${long} takes no value`
  // This form works for values that begin with a dash too.
  return `--${long} needs a value: --${long}=${value}`
}

/** Whether output has colors: at a terminal, unless NO_COLOR has a value (no-color.org). */
export function usesColor(output: Output, env: CommandIo['env']): boolean {
  return output.isTTY === true && !env['NO_COLOR']
}

/** Styles text, or returns it as it is. */
export type Paint = (format: Parameters<typeof styleText>[0], text: string) => string

/** Returns a function that styles text at a terminal, unless NO_COLOR is set. */
export function painter(output: Output, env: CommandIo['env']): Paint {
  const on = usesColor(output, env)
  return (format, text) => (on ? styleText(format, text, { validateStream: false }) : text)
}

/** The help of one command. */
export function commandHelp({ name, summary, usage, options, examples }: NamedCommand): string {
  const rows = Object.entries(options).map(([option, { short, value, description }]) => {
    const words = `${short ? `-${short}, ` : '    '}--${option}${value ? ` ${value}` : ''}`
    return [words, description] as const
  })
  const width = Math.max(...rows.map(([words]) => words.length))
  return [
    `${summary}\n`,
    `Usage: lodestone ${name} ${usage}\n`,
    'Options:',
    ...rows.map(([words, description]) => `  ${words.padEnd(width)}  ${description}`),
    '\nExamples:',
    ...examples.flatMap(({ command, does }) => [`  # ${does}`, `  ${command}`]),
    '',
  ].join('\n')
}
