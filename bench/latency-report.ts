/** Prints how long users wait as Markdown, beside how long they wait for Karmada itself. */
import { table } from './markdown.ts'

/** Of one workload, in ms. */
export interface Wait {
  policyToBinding: number
  claimToNarrowed: number
  claimToBound: number
  /** Karmada's scheduler has taken the workload to where its data is. */
  claimToMoved: number
}

export function report({ setting, waits }: { setting: string; waits: Wait[] }): string {
  const row = (name: string, of: (wait: Wait) => number, wanted = '') => {
    const sorted = waits.map(of).sort((a, b) => a - b)
    const quantile = (q: number) => Math.round(sorted[Math.floor(sorted.length * q)] ?? 0)
    return [name, quantile(0.5), quantile(0.9), wanted]
  }
  return [
    setting,
    '',
    table(
      ['one workload, everything else at rest', 'p50 ms', 'p90 ms', 'to reach'],
      [
        row('Karmada: policy created → binding', ({ policyToBinding }) => policyToBinding),
        row(
          'Lodestone: claim created → binding narrowed',
          ({ claimToNarrowed }) => claimToNarrowed,
          'p50 ≤ 150, its data known already',
        ),
        row('… → claim Bound', ({ claimToBound }) => claimToBound),
        row('… → rescheduled by Karmada', ({ claimToMoved }) => claimToMoved),
      ],
    ),
  ].join('\n')
}
