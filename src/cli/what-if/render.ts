/** Renders answers of `lodestone what-if` as text. */
import { referenceTitle } from '../../api/meta.ts'
import { listNames } from '../../base/names.ts'
import { printable } from '../../base/printable.ts'
import { formatCount, formatSize } from '../../base/quantity.ts'
import { formatAge } from '../../base/time/duration.ts'
import { cut } from '../../core/outcome.ts'
import { type Change, EFFECT_NAMES, EFFECTS, type Effect } from '../../core/what-if/effect.ts'
import { EFFECT_WORDS } from '../../core/what-if/effect-words.ts'
import type { Answer, EffectTotal } from '../../queries/what-if/ask.ts'
import type { WorkloadChange } from '../../queries/what-if/workload-change.ts'
import type { Paint } from '../command.ts'
import { formatColumns, printableLines } from '../format.ts'
import { describeTotal, describeTransfer } from '../transfer-words.ts'
import type { Table, TableRow } from './table.ts'

/** Suppositions, workloads of each effect, and notes that are shown without `--all`. */
const MOST_SHOWN = 10
/** In characters. */
const MAX_REASON = 400

export interface TextOptions {
  showsAll: boolean
  paint: Paint
  /** The file of the snapshot, for the title; undefined without one. */
  file?: string | undefined
  /** Whether there is a price matrix. Then an answer has the costs of transfers. */
  hasPrices: boolean
}

export function renderAnswer(
  answer: Answer,
  { sentences, notes }: { sentences: readonly string[]; notes: readonly string[] },
  { showsAll, paint, file, hasPrices }: TextOptions,
): string {
  const { workloads, totals, changes } = answer
  const present = EFFECT_NAMES.filter((effect) => totals[effect].workloads > 0)
  const sections = present.map((effect) => {
    const all = changes.filter((change) => change.effect === effect)
    // Those with a later effect only are shown with their first one.
    if (all.length === 0) return ''
    const { shown, more } = cutList(all, showsAll)
    return [
      `\n${paint('bold', `${EFFECT_WORDS[effect]}: ${EFFECTS[effect]}`)}\n`,
      ...shown.map((change) => renderWorkload(change, hasPrices)),
      ...more.map((line) => `  ${line}`),
    ].join('')
  })
  const summary =
    present.length === 0
      ? nothingChanges(workloads)
      : formatColumns([
          ['EFFECT', 'WORKLOADS', 'DATA', 'DEPENDENCIES', ...(hasPrices ? ['TO TRANSFER'] : [])],
          ...present.map((effect) => [
            EFFECT_WORDS[effect],
            ...totalCells(totals[effect]),
            ...(hasPrices ? [transferCell(totals[effect])] : []),
          ]),
        ])
  const shownSentences = showsAll ? sentences : sentences.slice(0, MOST_SHOWN)
  const moreSentences = sentences.length - shownSentences.length
  const supposed = [...shownSentences.map(printable), ...(moreSentences > 0 ? [`${moreSentences} more`] : [])]
  return [
    renderTitle(supposed.join(', and '), workloads, { paint, file }),
    summary,
    ...sections,
    ...noteLines(notes, showsAll),
  ].join('')
}

function totalCells({ workloads, bytes, dependencies }: EffectTotal): string[] {
  return [String(workloads), bytes > 0 ? formatSize(bytes) : '-', String(dependencies)]
}

/** Returns the certain transfers in words. A workload that may go to one of several clusters is counted only. */
function transferCell({ transfer }: EffectTotal): string {
  if (!transfer) return '-'
  const { undecided, bytes } = transfer
  if (undecided === 0) return describeTotal(transfer)
  return bytes === 0 ? `${undecided} undecided` : `${describeTotal(transfer)}, and ${undecided} undecided`
}

function renderWorkload(change: WorkloadChange, hasPrices: boolean): string {
  const { workload, next } = change
  const title = referenceTitle(workload)
  const later = next ? `\n      then ${EFFECT_WORDS[next.effect]}${renderMove(next)}${renderDelay(next)}` : ''
  const lines = `  ${title}${renderMove(change)}${renderDelay(change)}${renderReason(change)}${hasPrices ? renderCosts(change) : ''}${later}`
  return `${printableLines(lines)}\n`
}

/** Clusters whose cost is shown for each workload. */
const MAX_COSTS = 3

function renderCosts({ transfer }: WorkloadChange): string {
  if (!transfer) return ''
  const shown = transfer.candidates.slice(0, MAX_COSTS)
  const more = transfer.candidates.length + transfer.more - shown.length
  const lines = shown.map((cost) => `${cost.cluster}: ${describeTransfer(cost)}`)
  return [...lines, ...(more > 0 ? [`… and ${more} more clusters`] : [])].map((line) => `\n      ${line}`).join('')
}

/** From where the workload goes, and where to. Which of several clusters the scheduler takes is not predicted. */
function renderMove({ from, to, takesAll }: Change): string {
  const targets = to.length > 1 && !takesAll ? `one of ${listNames(to, 5)}` : listNames(to, 5)
  if (from.length === 0 && to.length === 0) return ''
  if (to.length === 0) return `: leaves ${listNames(from, 5)}`
  return from.length === 0 ? `: to ${targets}` : `: ${listNames(from, 5)} → ${targets}`
}

function renderDelay({ afterSeconds }: Change): string {
  return afterSeconds === 0 ? '' : `, after ${formatAge(afterSeconds * 1000)}`
}

function renderReason({ reason }: Change): string {
  return reason === '' ? '' : `\n      ${cut(reason, MAX_REASON)}`
}

function noteLines(notes: readonly string[], showsAll: boolean): string[] {
  if (notes.length === 0) return []
  const { shown, more } = cutList(notes, showsAll)
  return ['\n', ...shown.map((note) => `Note: ${printable(note)}.\n`), ...more]
}

function renderTitle(
  supposed: string,
  workloads: number,
  { paint, file }: Pick<TextOptions, 'paint' | 'file'>,
): string {
  const of = file === undefined ? '' : ` of ${printable(file)}`
  return `${paint('bold', `What if ${supposed}?`)} (${formatCount(workloads, 'workload')}${of})\n\n`
}

/** Returns what is shown of a list, and the line that says how many more items it has, if any. */
function cutList<T>(items: readonly T[], showsAll: boolean, most = MOST_SHOWN) {
  const shown = showsAll ? items : items.slice(0, most)
  const hidden = items.length - shown.length
  return { shown, more: hidden > 0 ? [`… and ${hidden} more; use --all to see them\n`] : [] }
}

export function renderTable(
  { each, workloads, rows }: Table,
  notes: readonly string[],
  { showsAll, paint, file }: TextOptions,
): string {
  const shownEffects = EFFECT_NAMES.filter((effect) => rows.some(({ totals }) => totals[effect].workloads > 0))
  const { shown, more } = cutList(rows, showsAll, MAX_ROWS)
  const what = each === 'cluster' ? 'a cluster is lost' : 'the location of a source is out of date'
  const head = [
    each === 'cluster' ? 'CLUSTER' : 'SOURCE',
    ...shownEffects.map((effect) => EFFECT_WORDS[effect].toUpperCase()),
    ...(each === 'cluster' ? ['DATA WITHOUT A COPY'] : []),
  ]
  return [
    renderTitle(what, workloads, { paint, file }),
    formatColumns([head, ...shown.map((row) => rowCells(row, shownEffects))]),
    ...more,
    ...(shownEffects.length === 0 ? [`\n${nothingChanges(workloads)}`] : []),
    ...noteLines(notes, showsAll),
  ].join('')
}

function nothingChanges(workloads: number): string {
  return `Nothing changes for ${formatCount(workloads, 'workload')}.\n`
}

const MAX_ROWS = 50

function rowCells({ name, totals, onlyCopy }: TableRow, effects: readonly Effect[]): string[] {
  const numbers = effects.map((effect) => String(totals[effect].workloads))
  return [name, ...numbers, ...(onlyCopy ? [describeData(onlyCopy)] : [])]
}

function describeData(data: TableRow['onlyCopy'] = []): string {
  if (data.length === 0) return '-'
  const bytes = data.reduce((sum, each) => sum + (each.bytes ?? 0), 0)
  const names = listNames(
    data.map(({ source }) => source),
    3,
  )
  return bytes > 0 ? `${names} (${formatSize(bytes)})` : names
}
