/** Shortens the durations of alerts, so that a test sees in minutes what takes hours in an installation. */

interface Rule {
  expr: string
  for?: string
  keep_firing_for?: string
}

/** The content of a file of rules. */
export interface Rules {
  groups: { name: string; rules: Rule[] }[]
}

const UNIT_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000, y: 31_536_000_000 }
const DURATION = '(?:\\d+(?:ms|[smhdwy]))+'
/** `[5m]`, the `[1h:5m]` of a subquery, and `offset 5m` or `offset -5m`. Names such as `ratio_rate5m` are no durations. */
const IN_EXPRESSION = new RegExp(`(?<=\\[(?:${DURATION}:)?|\\boffset\\s+-?)${DURATION}`, 'g')

export interface Shortening {
  factor: number
  /** No duration becomes shorter. The processes that are measured have the real time: a Lease without a holder is free after 15 s. */
  shortestMs: number
}

/**
 * Divides the durations of all rules: waits before an alert, windows and offsets. Numbers that are compared with a metric stay, such as
 * the 300 s of a watch without events.
 */
export function shortenRules({ groups }: Rules, shortening: Shortening): Rules {
  const shorten = (duration: string) => shortenDuration(duration, shortening)
  return {
    groups: groups.map((group) => ({
      ...group,
      rules: group.rules.map((rule) => ({
        ...rule,
        expr: rule.expr.replaceAll(IN_EXPRESSION, shorten),
        ...(rule.for !== undefined && { for: shorten(rule.for) }),
        ...(rule.keep_firing_for !== undefined && { keep_firing_for: shorten(rule.keep_firing_for) }),
      })),
    })),
  }
}

/** Divides a duration of Prometheus, such as `1h30m`. Returns milliseconds. Throws for any other text. */
export function shortenDuration(duration: string, { factor, shortestMs }: Shortening): string {
  if (!new RegExp(`^${DURATION}$`).test(duration)) throw new Error(`${duration} is not a duration of Prometheus`)
  const parts = [...duration.matchAll(/(\d+)(ms|[smhdwy])/g)]
  const ms = parts.reduce((sum, [, count, unit]) => sum + Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS], 0)
  return `${Math.max(Math.round(ms / factor), shortestMs)}ms`
}
