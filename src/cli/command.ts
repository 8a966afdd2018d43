/** What a command of the command line is, and how its words are read. */
import { type ParseArgsConfig, parseArgs, styleText } from 'node:util'
import { UserError } from '../core/user-error.ts'
import { suggest } from './suggest.ts'

export interface Output {
  write(text: string): unknown
  isTTY?: boolean
  fd?: number
}

/** The outside world of a command: everything that it may print to or ask. */
export interface CommandIo {
  stdout: Output
  stderr: Output
  env: Record<string, string | undefined>
  /** Aborts when the user or the system wants the command to end. */
  signal: AbortSignal
  now: () => number
}

export interface Option {
  type: 'string' | 'boolean'
  short?: string
  multiple?: boolean
  /** What stands for the value in the help, e.g. FILE. */
  value?: string
  description: string
}

export interface Command {
  name: string
  summary: string
  /** What stands behind the name, e.g. `-f FILE… [--folder DIR]`. */
  usage: string
  options: Record<string, Option>
  /** Whether words without a dash are taken. */
  positionals?: boolean
  examples: { command: string; does: string }[]
  /** Does the work. Gives the exit status. */
  run(args: Arguments, io: CommandIo): Promise<number>
}

/** What the user asked for, checked against the command's options. */
export interface Arguments {
  positionals: string[]
  text(option: string): string | undefined
  texts(option: string): string[]
  flag(option: string): boolean
}

/** Invalid arguments; the message has the way out. */
export class UsageError extends UserError {
  override name = 'UsageError'
}

/** Reads the words behind a command's name. Throws `UsageError` with a suggestion for a mistyped option. */
export function readArguments(command: Command, words: string[]): Arguments {
  try {
    const { values, positionals } = parseArgs({
      args: words,
      options: parseOptions(command.options),
      allowPositionals: command.positionals ?? false,
      strict: true,
    })
    const all = (option: string) => [values[option] ?? []].flat()
    return {
      positionals,
      text: (option) => all(option).at(-1) as string | undefined,
      texts: (option) => all(option) as string[],
      flag: (option) => values[option] === true,
    }
  } catch (error) {
    throw new UsageError(explainParseError(error as NodeJS.ErrnoException, command), { cause: error })
  }
}

function parseOptions(options: Record<string, Option>): NonNullable<ParseArgsConfig['options']> {
  return Object.fromEntries(
    Object.entries(options).map(([name, { type, short, multiple }]) => [
      name,
      { type, ...(short && { short }), ...(multiple && { multiple }) },
    ]),
  )
}

function explainParseError(error: NodeJS.ErrnoException, { name, options }: Command): string {
  const unknown = /'(-{1,2}[^']*)'/.exec(error.message)?.[1]
  if (error.code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION' && unknown) {
    const known = Object.keys(options).map((option) => `--${option}`)
    return `unknown option ${unknown}${suggest(unknown, known)}\nSee 'lodestone ${name} --help'.`
  }
  return `${error.message.split('. ')[0]}\nSee 'lodestone ${name} --help'.`
}

/** Colours and weights for a terminal; the text as it is elsewhere, or when NO_COLOR is set. */
export function painter(output: Output, env: CommandIo['env']) {
  const on = output.isTTY === true && !env['NO_COLOR']
  return (format: Parameters<typeof styleText>[0], text: string): string =>
    on ? styleText(format, text, { validateStream: false }) : text
}

/** The help of one command. */
export function helpOf({ name, summary, usage, options, examples }: Command): string {
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

export const HELP_OPTION = { help: { type: 'boolean', short: 'h', description: 'Show this help' } } as const
