/** Options of the command line, progress on stderr, and the result on stdout as Markdown. */
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import type { Figure } from './bounds.ts'

type Cell = string | number

/** The options of the command line. An option whose default is a number is a number. */
export function options<T extends Record<string, Cell>>(defaults: T): T {
  const known = Object.entries(defaults)
  const { values } = parseArgs({
    options: Object.fromEntries(known.map(([name, value]) => [name, { type: 'string', default: String(value) }])),
  })
  return Object.fromEntries(
    known.map(([name, value]) => [name, typeof value === 'number' ? Number(values[name]) : values[name]]),
  ) as T
}

export function log(message: string): void {
  process.stderr.write(`[bench] ${message}\n`)
}

export function machine(): string {
  return `Node ${process.version}, ${cpus().length} CPUs (${cpus()[0]?.model.trim()})`
}

/** Prints the machine and the setting in one line, then the parts of the result. */
export function print(setting: string, ...parts: string[]): void {
  process.stdout.write(`${[`${machine()}; ${setting}\n`, ...parts].join('\n')}\n`)
}

export function table(head: Cell[], body: Cell[][]): string {
  const line = (cells: Cell[]) => `| ${cells.join(' | ')} |`
  return `${[line(head), line(head.map(() => '---')), ...body.map(line)].join('\n')}\n`
}

export function quantile(values: number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN
}

export function median(values: number[]): number {
  return quantile(values, 0.5)
}

/** Divides round by round, since load disturbs both sides of a round. */
export function quotients(of: number[], to: number[]): number[] {
  return of.map((value, i) => value / (to[i] ?? Number.NaN))
}

/** Returns the median and the quartiles of the quotients. */
export function ratio(of: number[], to: number[]): string {
  const all = quotients(of, to)
  const [low, middle, high] = [0.25, 0.5, 0.75].map((share) => quantile(all, share).toFixed(2))
  return `${middle} (${low}–${high})`
}

/** Hands the figures that `bench:guard` compares with their bounds to it, if it started this program. */
export function report(figures: Figure[]): void {
  process.send?.(figures)
}
