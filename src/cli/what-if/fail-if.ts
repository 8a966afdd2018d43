/** The conditions of `--fail-if`: a number of workloads with an effect, compared with a limit. */
import { suggest } from '../../base/suggest.ts'
import { EFFECT_NAMES, type Effect } from '../../core/what-if/effect.ts'
import type { Answer } from '../../queries/what-if/ask.ts'
import { UsageError } from '../command.ts'

export interface Condition {
  /** As the user wrote it. */
  text: string
  /** Whether it is true for the totals of an answer. */
  holds(totals: Answer['totals']): boolean
}

export const FAIL_IF_FORM = "EFFECT OPERATOR NUMBER, e.g. 'stranded > 0'"

const OPERATORS: Readonly<Record<string, (count: number, limit: number) => boolean>> = {
  '>': (count, limit) => count > limit,
  '>=': (count, limit) => count >= limit,
  '<': (count, limit) => count < limit,
  '<=': (count, limit) => count <= limit,
  '==': (count, limit) => count === limit,
  '!=': (count, limit) => count !== limit,
}

/** Throws `UsageError` for a text of another form, and for an unknown effect. */
export function readCondition(text: string): Condition {
  const [, name = '', operator = '', limit = ''] =
    /^\s*([A-Za-z]+)\s*(>=|<=|==|!=|>|<)\s*(\d{1,9})\s*$/.exec(text) ?? []
  const compare = OPERATORS[operator]
  if (!compare) throw new UsageError(`--fail-if '${text}': expected ${FAIL_IF_FORM}`)
  const effect = EFFECT_NAMES.find((known) => known === name)
  if (!effect) {
    const known = EFFECT_NAMES.join(', ')
    throw new UsageError(`--fail-if '${text}': unknown effect ${name}${suggest(name, EFFECT_NAMES)}; known: ${known}`)
  }
  return {
    text: text.trim(),
    holds: (totals: Record<Effect, { workloads: number }>) => compare(totals[effect].workloads, Number(limit)),
  }
}
