/** Prints what the loops did as Markdown: a column a run, beside what is to be reached. */
import type { Writes } from './api-writes.ts'
import type { LoadResult } from './load.ts'
import { table } from './markdown.ts'

export interface LoopsRun {
  /** Writes a second. */
  allowed: number
  /** Until every claim is Bound and every binding narrowed, from when Lodestone was ready. */
  seconds: number
  /** Until every claim is Bound. */
  claimsSeconds: number
  /** Until every binding is narrowed. */
  bindingsSeconds: number
  writes: Writes
  /** Those of the writes that lost a race. */
  conflicts: number
  /** To the catalog. */
  queries: number
  /** MiB. */
  memory: { now: number; peak: number }
  cpu: { own: number; apiServer: number }
  admission: { target: string; during: LoadResult; idle: LoadResult }[]
}

interface Report {
  setting: string
  claims: number
  tables: number
  answerMs: number
  runs: LoopsRun[]
}

/** Events have a limit of their own. */
const EVENTS = /events$/

export function report({ setting, claims, tables, answerMs, runs }: Report): string {
  const row = (name: string, value: (run: LoopsRun) => string | number, wanted = '') => [
    name,
    ...runs.map((run) => value(run)),
    wanted,
  ]
  const kinds = [...new Set(runs.flatMap(({ writes }) => Object.keys(writes)))].sort()
  return [
    setting,
    '',
    table(
      [
        `${claims} claims over ${tables} tables, answered in ${answerMs} ms`,
        ...runs.map(({ allowed }) => `${allowed} writes/s allowed`),
        'to reach',
      ],
      [
        row('ready → all Bound and all narrowed', ({ seconds }) => `${seconds.toFixed(1)} s`, '≤ 120 s at 100/s'),
        row('… all bindings narrowed', ({ bindingsSeconds }) => `${bindingsSeconds.toFixed(1)} s`),
        row('… all claims Bound', ({ claimsSeconds }) => `${claimsSeconds.toFixed(1)} s`),
        row('the least that its writes can take', (run) => `${floor(run).toFixed(1)} s`),
        row('of the writes allowed, used', (run) => `${Math.round((100 * floor(run)) / run.seconds)} %`),
        row('writes that count', (run) => limited(run)),
        ...kinds.map((kind) => row(`… ${kind}`, ({ writes }) => writes[kind] ?? 0, EVENTS.test(kind) ? 'beside' : '')),
        row('… of them lost to a race', ({ conflicts }) => conflicts),
        row('queries to the catalog', ({ queries }) => queries, `≤ ${tables}`),
        row('resident memory', ({ memory }) => `${mib(memory.now)} (peak ${Math.round(memory.peak)})`, '≤ 400 MiB'),
        row('CPU meanwhile, Lodestone', ({ cpu }) => `${cpu.own.toFixed(1)} s`),
        row('CPU meanwhile, kube-apiserver', ({ cpu }) => `${cpu.apiServer.toFixed(1)} s`),
      ],
    ),
    table(
      [
        'admission (CREATE)',
        'server',
        'reviews',
        'p50 ms',
        'p99 ms',
        'slowest ms',
        ...['p50', 'p99', 'slowest'].map((name) => `at rest ${name}`),
        'p99 ÷ p99 at rest',
        'to reach',
      ],
      runs.flatMap(({ allowed, admission }) =>
        admission.map(({ target, during, idle }) => [
          `while ${allowed} writes/s`,
          target,
          during.reviews,
          ...[during, idle].flatMap(({ p50, p99, max }) => [p50, p99, max].map((ms) => ms.toFixed(2))),
          (during.p99 / idle.p99).toFixed(2),
          target.startsWith('(b)') ? '≤ 1.5' : '',
        ]),
      ),
    ),
  ].join('\n')
}

function limited({ writes }: LoopsRun): number {
  return Object.entries(writes).reduce((sum, [kind, count]) => (EVENTS.test(kind) ? sum : sum + count), 0)
}

/** Seconds. The bucket of tokens is full at first and holds those of two seconds. */
function floor(run: LoopsRun): number {
  return limited(run) / run.allowed - 2
}

function mib(value: number): string {
  return `${Math.round(value)} MiB`
}
