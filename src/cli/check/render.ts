/** Renders reviews: a line per object, its reasons, and the change as a colored diff. */
import { diffLines } from 'diff'
import { diffJson } from '../../core/admission/diff.ts'
import { decisionInWords } from '../../core/outcome.ts'
import type { painter } from '../command.ts'
import { renderData, renderYaml } from '../output.ts'
import type { Reviewed } from './review.ts'

type Paint = ReturnType<typeof painter>

/** Renders one object: decision, reasons, and changes. */
export function renderReview(review: Reviewed, paint: Paint): string {
  const { object, derivedFrom, outcome, decision, reason, warnings, errors } = review
  const isRefused = outcome === 'denied' || outcome === 'unknown'
  const mark = isRefused
    ? paint('red', outcome === 'denied' ? '✘' : '?')
    : ATTENTION.has(decision ?? '')
      ? paint('yellow', '●')
      : paint('green', '✔')
  const title = derivedFrom ? `${derivedFrom} → ${object}` : object
  const word = isRefused ? paint('red', outcome) : decision ? decisionInWords(decision) : outcome
  return [
    `${mark} ${paint('bold', title)}: ${word}`,
    ...(reason ? [`    ${reason}`] : []),
    ...errors.map(({ path, message }) => `    ${paint('red', path)}: ${message}`),
    ...warnings
      .filter((warning) => !reason || !warning.includes(reason))
      .map((warning) => `    ${paint('yellow', 'warning')}: ${warning}`),
    renderDiff(review, paint, '    '),
  ]
    .filter((line) => line !== '')
    .join('\n')
    .concat('\n')
}

/** Decisions that need the attention of a user: the workload does not simply follow its data. */
const ATTENTION: ReadonlySet<string> = new Set(['OnHold', 'Ignored', 'Released', 'Relaxed', 'Kept'])

/** The change as a diff of YAML, with three lines around each change; empty without a change. */
export function renderDiff({ before, after }: { before: unknown; after: unknown }, paint: Paint, indent = ''): string {
  if (before === after) return ''
  const changes = diffLines(renderYaml(before), renderYaml(after))
  return changes
    .flatMap(({ value, added, removed }, i) => {
      const lines = value.replace(/\n$/, '').split('\n')
      if (added) return lines.map((line) => paint('green', `+ ${line}`))
      if (removed) return lines.map((line) => paint('red', `- ${line}`))
      return context(lines, i === 0, i === changes.length - 1).map((line) => paint('dim', `  ${line}`))
    })
    .map((line) => `${indent}${line}`)
    .join('\n')
}

const CONTEXT_LINES = 3

function context(lines: string[], first: boolean, last: boolean): string[] {
  const head = first ? [] : lines.slice(0, CONTEXT_LINES)
  const tail = last ? [] : lines.slice(-CONTEXT_LINES)
  if (lines.length <= head.length + tail.length) return lines
  return [...head, ...(head.length > 0 || tail.length > 0 ? ['…'] : []), ...tail]
}

/** Why an object is not shown: the errors of a denied one, a line per path, or the reason of an undecided one. */
export function renderRefusal({ object, outcome, reason = '', errors }: Reviewed): string {
  if (outcome === 'unknown') return `${object}: unknown: ${reason}\n`
  return errors.map(({ path, message }) => `${object}: denied: ${path}: ${message}\n`).join('')
}

/** Renders all objects as JSON or YAML. */
export function renderMachine(reviews: readonly Reviewed[], format: 'json' | 'yaml'): string {
  if (format === 'yaml') {
    const stored = reviews.filter(({ outcome }) => outcome === 'allowed' || outcome === 'patched')
    return stored.map(({ after }) => renderYaml(after)).join('---\n')
  }
  const rows = reviews.map(({ before, after, ...review }) => ({
    ...review,
    patch: before === after ? [] : diffJson(before, after),
  }))
  return renderData(rows, 'json')
}
