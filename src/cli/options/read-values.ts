/** Reads the values of options that several commands have: a word, a port, a duration, the file of a CA. */
import { readFileSync } from 'node:fs'
import { describeFileError } from '../../base/file-error.ts'
import { certificateProblem } from '../../base/net/certificate-text.ts'
import { suggest } from '../../base/suggest.ts'
import { type Arguments, UsageError } from '../command.ts'

/** Returns the word of an option that takes one of these; undefined without it. Throws `UsageError` with a suggestion for another word. */
export function readChoice<const Word extends string>(
  args: Arguments,
  option: string,
  words: readonly Word[],
): Word | undefined {
  const given = args.text(option)
  const word = words.find((known) => known === given)
  if (given !== undefined && word === undefined)
    throw new UsageError(`--${option} takes one of ${words.join(', ')}, not ${given}${suggest(given, words)}`)
  return word
}

/** Returns the port of an option; undefined without it. 0 is a free port. Throws `UsageError` for another value. */
export function readPort(args: Arguments, option: string): number | undefined {
  const text = args.text(option)
  if (text === undefined) return undefined
  const port = Number(text)
  if (!/^\d+$/.test(text) || port > 65535) throw new UsageError(`--${option} takes a port from 0 to 65535, not ${text}`)
  return port
}

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000 }

/** Returns the duration of an option in milliseconds. Throws `UsageError` for another form. */
export function readDuration(option: string, text: string): number {
  if (!/^(\d{1,5}[smh])+$/.test(text)) {
    throw new UsageError(`--${option} takes a duration such as 90s or 2m, not ${text}`)
  }
  return [...text.matchAll(/(\d+)([smh])/g)].reduce((sum, [, n, unit = 's']) => sum + Number(n) * (UNITS[unit] ?? 0), 0)
}

/** Returns the PEM text of a file. Throws `UsageError` if it has no certificate; `remedy` tells which file is meant. */
export function readCaFile(option: string, file: string, remedy: string): string {
  let pem: string
  try {
    pem = readFileSync(file, 'utf8')
  } catch (cause) {
    throw new UsageError(`--${option} ${file}: ${describeFileError(cause)}`, { cause })
  }
  const problem = certificateProblem(pem)
  if (problem !== undefined) throw new UsageError(`--${option} ${file}: ${problem}; ${remedy}`)
  return pem
}
