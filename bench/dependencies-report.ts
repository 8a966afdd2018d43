/** Prints what the distributors of dependencies did as Markdown: a column each, beside what is to be reached. */
import type { Writes } from './api-writes.ts'
import { table } from './markdown.ts'

export interface Phase {
  name: string
  /** From the first scheduled binding until the last dependency is attached. */
  seconds: number
  requests: Writes
  /** Seconds, by program. */
  cpu: Record<string, number>
}

export interface DistributorRun {
  name: string
  phases: Phase[]
  /** MiB at the end, by program. */
  memory: Record<string, number>
}

interface Report {
  setting: string
  workloads: number
  attached: number
  runs: DistributorRun[]
}

/** Clients send them beside, and may drop them. */
const EVENTS = /events$/

export function report({ setting, workloads, attached, runs }: Report): string {
  const names = runs[0]?.phases.map(({ name }) => name) ?? []
  return [
    setting,
    '',
    ...names.map((name, i) => phaseTable(`${workloads} workloads ${name}, ${attached} dependencies`, runs, i)),
    table(
      ['resident memory at the end', ...runs.map(({ name }) => name)],
      programsOf(runs.map(({ memory }) => memory)).map((program) => [
        program,
        ...runs.map(({ memory }) => (program in memory ? `${Math.round(memory[program] ?? 0)} MiB` : '')),
      ]),
    ),
  ].join('\n')
}

function phaseTable(title: string, runs: DistributorRun[], index: number): string {
  const phases = runs.map(({ phases }) => phases[index] as Phase)
  const kinds = [...new Set(phases.flatMap(({ requests }) => Object.keys(requests)))].sort()
  const row = (name: string, value: (phase: Phase) => string | number, wanted = '') => [
    name,
    ...phases.map(value),
    wanted,
  ]
  return table(
    [title, ...runs.map(({ name }) => name), 'to reach'],
    [
      row('scheduled → all attached', ({ seconds }) => `${seconds.toFixed(1)} s`, 'Lodestone ≤ Karmada'),
      row('requests', total, 'Lodestone ≤ Karmada'),
      ...kinds.map((kind) =>
        row(`… ${kind}`, ({ requests }) => requests[kind] ?? 0, EVENTS.test(kind) ? 'beside' : ''),
      ),
      ...programsOf(phases.map(({ cpu }) => cpu)).map((program) =>
        row(`CPU, ${program}`, ({ cpu }) => (program in cpu ? `${cpu[program]?.toFixed(1)} s` : '')),
      ),
    ],
  )
}

function total({ requests }: Phase): number {
  return Object.entries(requests).reduce((sum, [kind, count]) => (EVENTS.test(kind) ? sum : sum + count), 0)
}

function programsOf(records: Record<string, number>[]): string[] {
  return [...new Set(records.flatMap((record) => Object.keys(record)))]
}
