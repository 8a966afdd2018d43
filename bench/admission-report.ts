/** Prints the numbers of a run as Markdown, beside their targets. */
import type { Fleet } from './fleet.ts'
import { table } from './markdown.ts'

/** A server under one load. */
export interface Row {
  target: string
  review: string
  connections: number
  /** Round n of every server was taken at the same time, but for seconds. */
  rounds: Round[]
}

export interface Round {
  perCpuSecond: number
  /** Reviews a second. */
  rate: number
  /** Milliseconds. */
  p50: number
  p99: number
}

export interface StartFigures {
  seconds: number
  ownCpu: number
  apiServerCpu: number
  /** MiB. */
  memory: number
}

interface Report {
  /** The machine, and how it was measured. */
  setting: string
  rows: Row[]
  fleet: Fleet
  started: StartFigures[]
  memory: { now: number; peak: number }
}

export function report({ setting, rows, fleet, started, memory }: Report): string {
  return [
    setting,
    '',
    table(
      ['review', 'connections', 'server', 'reviews per server-CPU-second', 'reviews/s', 'p50 ms', 'p99 ms'],
      rows.map(({ review, connections, target, rounds }) => [
        review,
        connections,
        target,
        Math.round(median(rounds.map(({ perCpuSecond }) => perCpuSecond))),
        Math.round(median(rounds.map(({ rate }) => rate))),
        median(rounds.map(({ p50 }) => p50)).toFixed(2),
        median(rounds.map(({ p99 }) => p99)).toFixed(2),
      ]),
    ),
    table(
      ['ratio', ...columns(rows).map(([review, connections]) => `${review}, ${connections}`), 'to reach'],
      ratios(rows),
    ),
    table(
      [`with ${fleet.claims} claims, ${fleet.sources} sources, ${fleet.bindings} bindings`, 'measured', 'to reach'],
      [
        ['resident memory when ready', `${Math.round(median(started.map((start) => start.memory)))} MiB`, '≤ 400 MiB'],
        [
          'resident memory after the load',
          `${Math.round(memory.now)} MiB (peak ${Math.round(memory.peak)})`,
          '≤ 400 MiB',
        ],
        ['start to ready', medianOf(started, 'seconds'), '≤ 20 s'],
        ['CPU until then, Lodestone', medianOf(started, 'ownCpu'), ''],
        ['CPU until then, kube-apiserver', medianOf(started, 'apiServerCpu'), ''],
      ],
    ),
  ].join('\n')
}

/** Seconds: the median of several starts, and all of them in order. */
function medianOf(started: StartFigures[], figure: keyof StartFigures): string {
  const all = started.map((start) => start[figure])
  const each = all.map((value) => value.toFixed(1)).join(', ')
  return `${median(all).toFixed(1)} s (${each})`
}

/** Of each round the quotient, and of those the median: what disturbed a round disturbed both. */
function ratios(rows: Row[]): string[][] {
  const row = (name: string, wanted: string, of: keyof Round, other: string) => [
    name,
    ...columns(rows).map(([review, connections]) => {
      const roundsOf = (target: string) =>
        rows.find((r) => r.target.startsWith(target) && r.review === review && r.connections === connections)?.rounds ??
        []
      const others = roundsOf(other)
      const quotients = roundsOf('(b)').map((round, i) => round[of] / (others[i]?.[of] ?? Number.NaN))
      return median(quotients).toFixed(2)
    }),
    wanted,
  ]
  return [
    row('(b) ÷ (a), reviews per CPU-second', '≥ 0.7', 'perCpuSecond', '(a)'),
    row('(b) ÷ (c), reviews per CPU-second', '≥ 5', 'perCpuSecond', '(c)'),
    row('(b) ÷ (c), p99', '< 1', 'p99', '(c)'),
  ]
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

function columns(rows: Row[]): [string, number][] {
  const unique = new Map(
    rows.map(({ review, connections }) => [`${review} ${connections}`, [review, connections] as [string, number]]),
  )
  return [...unique.values()]
}
