/** Prints what an uninstallation removes, keeps and could not remove: one line for each kind, or all objects as JSON or YAML. */

import { objectKey } from '../../api/meta.ts'
import { listNames } from '../../base/names.ts'
import { printable } from '../../base/printable.ts'
import { OUTPUT_API_VERSION, type PLAIN_FORMATS, renderData } from '../output.ts'
import type { Candidate } from './gather.ts'

export type Format = (typeof PLAIN_FORMATS)[number]

/** The removed values of one object. */
export type Removed = Pick<Candidate, 'type' | 'namespace' | 'name'> & { removes: readonly string[] }

export interface Report {
  /** `planned`: nothing was changed. `incomplete`: something is left, see `failures`. */
  result: 'planned' | 'removed' | 'incomplete'
  removed: readonly Removed[]
  /** What stays, and why. */
  keeps: readonly string[]
  /** What could not be removed, each with its reason. */
  failures: readonly string[]
}

/** More names of one kind, and more lines of one list, are counted only. */
const MAX_NAMES = 5
const MAX_LINES = 50

/** Renders a report as text, or as data for programs. */
export function renderReport(report: Report, format: Format): string {
  return format === 'text' ? renderText(report) : renderData(toData(report), format)
}

function toData({ result, removed, keeps, failures }: Report): object {
  const objects = removed.map(({ type, namespace, name, removes }) => ({
    kind: type.kind,
    ...(namespace ? { namespace } : {}),
    name,
    removes,
  }))
  return { apiVersion: OUTPUT_API_VERSION, kind: 'Uninstall', result, removed: objects, keeps, failures }
}

const SUMMARIES: Readonly<Record<Report['result'], string>> = {
  planned: 'nothing was changed; run again with --yes',
  removed: 'removed',
  incomplete: 'not everything was removed; see the messages, and run again',
}

function renderText({ result, removed, keeps, failures }: Report): string {
  const count = `${removed.length} object${removed.length === 1 ? '' : 's'}`
  const isEmpty = removed.length + keeps.length + failures.length === 0
  return [
    ...renderTraces(removed),
    ...limited(keeps).map((line) => `kept: ${line}\n`),
    isEmpty ? 'nothing of Lodestone is left\n' : `${count}: ${SUMMARIES[result]}\n`,
  ].join('')
}

/** Returns one line for each kind: the number of objects, the first names, and the values. */
export function renderTraces(removed: readonly Removed[]): string[] {
  return [...Map.groupBy(removed, ({ type }) => type.kind)].map(([kind, members]) => {
    const names = members.map(({ namespace, name }) => objectKey(namespace, name))
    const values = [...new Set(members.flatMap(({ removes }) => removes))]
    const what = limitedTo(values, MAX_NAMES).join('; ')
    return printable(`${kind}: ${members.length} (${listNames(names, MAX_NAMES)}): ${what}`).concat('\n')
  })
}

/** Returns the first lines of a list, and how many follow. */
export function limited(lines: readonly string[]): string[] {
  return limitedTo(lines.map(printable), MAX_LINES)
}

function limitedTo(lines: readonly string[], most: number): string[] {
  return lines.length > most ? [...lines.slice(0, most), `… and ${lines.length - most} more`] : [...lines]
}
