/** Renders reviews as text: a line per object, its reason, its findings, and the change as a colored diff. */
import { diffLines } from 'diff'
import { printable } from '../../../base/printable.ts'
import { formatCount } from '../../../base/quantity.ts'
import { decisionInWords } from '../../../core/outcome.ts'
import type { Paint } from '../../command.ts'
import { renderYaml } from '../../output.ts'
import type { Finding, FindingId, Place } from '../findings/findings.ts'
import { countObjects, findingsByReview, type HubSummary, type Report } from '../report.ts'
import type { Reviewed } from '../review/review-objects.ts'

/** Renders all objects with their findings, and then the other findings. */
export function renderText(report: Report, paint: Paint): string {
  const { objects, others } = findingsByReview(report)
  return [
    ...objects.map(({ review, findings }) => renderReview(review, findings, paint)),
    ...others.map((each) => `${describeFinding(each, paint)}\n`),
    ...describeCount(report),
    ...(report.hub ? [`${describeHub(report.hub)}\n`] : []),
  ].join('')
}

/** `5 objects checked, 1 not`; nothing for one object that was checked. */
function describeCount(report: Report): string[] {
  const { checked, notChecked } = countObjects(report)
  if (checked + notChecked === 0 || (checked === 1 && notChecked === 0)) return []
  return [`${formatCount(checked, 'object')} checked, ${notChecked} not\n`]
}

/** `2 workloads would move, 1 would wait, 3 unchanged`. */
function describeHub({ moves, waits, placed, unchanged, notReviewed }: HubSummary): string {
  return [
    `${formatCount(moves, 'workload')} would move`,
    `${waits} would wait`,
    ...(placed > 0 ? [`${placed} would be placed`] : []),
    `${unchanged} unchanged`,
    ...(notReviewed > 0 ? [`${notReviewed} more not checked`] : []),
  ].join(', ')
}

/** `FILE:LINE:COLUMN: severity: object: message (identifier)`, the form that editors and terminals recognize. */
export function describeFinding({ object, ...rest }: Finding, paint: Paint): string {
  return describeOwn({ ...rest, message: object ? `${object}: ${rest.message}` : rest.message }, paint)
}

function describeOwn({ id, severity, message, ...place }: Finding, paint: Paint): string {
  const at = describePlace(place)
  return `${at === '' ? '' : `${at}: `}${paint(COLORS[severity], severity)}: ${message} (${id})`
}

/** `FILE:LINE:COLUMN`, without the parts that are not known. */
export function describePlace({ file, line, column }: Place): string {
  return [file && printable(file), line, column].filter((part) => part !== undefined).join(':')
}

const COLORS = { error: 'red', warning: 'yellow', info: 'dim' } as const

function renderReview(review: Reviewed, findings: readonly Finding[], paint: Paint): string {
  const { object, derivedFrom, decision, reason, effect } = review
  const needsAttention =
    ATTENTION.has(decision ?? '') || findings.some(({ id }) => id === 'no-policy') || effect === 'moves'
  const [mark, word] = describeState(review, needsAttention, paint)
  const title = derivedFrom ? `${derivedFrom} → ${object}` : object
  const move = effect === 'moves' ? ', and would move' : ''
  const isTold = findings.some(({ id }) => HAVE_REASON.has(id))
  const inTitle = findings.find(({ id }) => id === 'not-checked')
  return [
    `${mark} ${paint('bold', title)}: ${word}${move}${inTitle ? `: ${inTitle.message}` : ''}`,
    ...(reason && !isTold ? [`    ${reason}`] : []),
    ...findings.filter((each) => each !== inTitle).map((each) => `    ${describeOwn(each, paint)}`),
    renderDiff(review, paint, '    '),
  ]
    .filter((line) => line !== '')
    .join('\n')
    .concat('\n')
}

/** Returns the mark of a review, and its outcome or decision in words. */
function describeState(
  { outcome, decision, isNotChecked }: Reviewed,
  needsAttention: boolean,
  paint: Paint,
): [mark: string, word: string] {
  if (outcome === 'denied' || outcome === 'unknown') {
    return [paint('red', outcome === 'denied' ? '✘' : '?'), paint('red', outcome)]
  }
  if (isNotChecked) return [paint('dim', '-'), 'not checked']
  return [needsAttention ? paint('yellow', '●') : paint('green', '✔'), decision ? decisionInWords(decision) : outcome]
}

/** The findings whose message has the reason of the decision. */
const HAVE_REASON: ReadonlySet<FindingId> = new Set([
  'undecided-object',
  'endless-hold',
  'hold',
  'ignored-claim',
  'kept-narrowing',
])

/** Decisions that need the attention of a user: the workload does not simply follow its data. */
const ATTENTION: ReadonlySet<string> = new Set(['OnHold', 'Gated', 'Ignored', 'Released', 'Relaxed', 'Kept'])

/** The change as a diff of YAML, with three lines around each change; empty without a change. */
export function renderDiff({ before, after }: { before: unknown; after: unknown }, paint: Paint, indent = ''): string {
  if (before === after) return ''
  const changes = diffLines(renderYaml(before), renderYaml(after))
  return changes
    .flatMap(({ value, added, removed }, i) => {
      const lines = value.replace(/\n$/, '').split('\n').map(printable)
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
