/** The rows of the form of a question: as a body of the API, as a command, and as parameters of an address. Pure. */
import type { Taint } from '../api/node.ts'
import { shellWord } from '../base/shell-word.ts'
import type { WhatIfQuestion } from '../cli/ui/questions/read-what-if.ts'
import type { BodyProblem } from '../cli/ui/replies.ts'
import {
  formatSupposition,
  MAX_SUPPOSITIONS,
  type NamedSupposition,
  readSupposition,
  type SuppositionOption,
} from '../core/what-if/supposition.ts'

/** A change that the reader supposes. A field that its kind does not have keeps its text, for when the kind changes back. */
export interface QuestionRow {
  /** Of this row as long as it is shown. */
  id: number
  kind: NamedSupposition['kind'] | 'applied'
  cluster: string
  key: string
  value: string
  effect: Taint['effect']
  source: string
  /** Names, with commas or spaces between them. */
  clusters: string
  /** `KIND/NAME`. */
  object: string
  /** Manifests. */
  text: string
}

type TextField = Exclude<keyof QuestionRow, 'id' | 'kind' | 'effect'>

/** The kinds of changes in words, and the fields that must have a text. */
export const ROW_KINDS: Readonly<Record<QuestionRow['kind'], { words: string; needs: readonly TextField[] }>> = {
  clusterLost: { words: 'a cluster is lost', needs: ['cluster'] },
  tainted: { words: 'a cluster has a taint', needs: ['cluster', 'key'] },
  untainted: { words: 'a taint is removed', needs: ['cluster', 'key'] },
  dataMoved: { words: 'data moves', needs: ['source', 'clusters'] },
  sourceStale: { words: 'a location is out of date', needs: ['source'] },
  applied: { words: 'manifests are applied', needs: ['text'] },
  deleted: { words: 'an object is deleted', needs: ['object'] },
}

let lastId = 0

/** Returns a row with these fields, and an id of its own. */
export function makeRow(fields: Partial<QuestionRow> = {}): QuestionRow {
  lastId += 1
  const names = { cluster: '', key: '', value: '', source: '', clusters: '', object: '', text: '' }
  return { ...names, kind: 'clusterLost', effect: 'NoExecute', ...fields, id: lastId }
}

/** The parameters of an address, which are shorter than the options. */
const OPTIONS: Readonly<Record<string, SuppositionOption>> = {
  lost: 'cluster-lost',
  taint: 'taint',
  data: 'data',
  stale: 'source-stale',
  delete: 'delete',
}
const PARAMETERS = Object.fromEntries(Object.entries(OPTIONS).map(([name, option]) => [option, name]))

/** In characters. Proxies and servers have limits for an address. */
const MAX_ADDRESS = 4000

/** Returns the parameters of a question in the query of an address, without those of the view. */
export function questionParameters(query: URLSearchParams): URLSearchParams {
  return new URLSearchParams([...query].filter(([name]) => Object.hasOwn(OPTIONS, name)))
}

/** Reads the rows that an address has. A question without one of them would be another question, so a problem names what is wrong. */
export function readAddress(query: URLSearchParams): { rows: QuestionRow[]; problem?: string } {
  const given = [...questionParameters(query)]
  if (given.length > MAX_SUPPOSITIONS)
    return { rows: [], problem: `the address has ${given.length} changes; a question has at most ${MAX_SUPPOSITIONS}` }
  const rows: QuestionRow[] = []
  for (const [name, text] of given) {
    const option = OPTIONS[name]
    const supposition = option && text !== '' && readSupposition({ option, text })
    if (!supposition) return { rows, problem: `the address has no valid change in ${name}=${text}` }
    rows.push(rowOf(supposition))
  }
  return { rows }
}

/** Returns the parameters of an address for the rows. Undefined for manifests, and for a question that is too long. */
export function addressParameters(rows: readonly QuestionRow[]): URLSearchParams | undefined {
  const suppositions = rows.map(suppositionOf)
  if (!suppositions.every((each) => each !== undefined)) return undefined
  const texts = suppositions.map(formatSupposition)
  const parameters = new URLSearchParams(
    texts.map(({ option, text }): [string, string] => [PARAMETERS[option] ?? '', text]),
  )
  return parameters.toString().length > MAX_ADDRESS ? undefined : parameters
}

function rowOf(supposition: NamedSupposition): QuestionRow {
  switch (supposition.kind) {
    case 'tainted': {
      const { taint, ...named } = supposition
      return makeRow({ ...named, key: taint.key, value: taint.value ?? '', effect: taint.effect })
    }
    case 'dataMoved':
      return makeRow({ ...supposition, clusters: supposition.clusters.join(', ') })
    default:
      return makeRow(supposition)
  }
}

/** Undefined for manifests. */
function suppositionOf(row: QuestionRow): NamedSupposition | undefined {
  const { kind } = row
  const [cluster, key, value] = [row.cluster.trim(), row.key.trim(), row.value.trim()]
  const [source, object] = [row.source.trim(), row.object.trim()]
  switch (kind) {
    case 'clusterLost':
      return { kind, cluster }
    case 'tainted':
      return { kind, cluster, taint: { key, ...(value && { value }), effect: row.effect } }
    case 'untainted':
      return { kind, cluster, key }
    case 'dataMoved':
      return { kind, source, clusters: row.clusters.split(/[\s,]+/).filter(Boolean) }
    case 'sourceStale':
      return { kind, source }
    case 'deleted':
      return { kind, object }
    case 'applied':
      return undefined
    default:
      throw new Error(`unknown kind ${kind satisfies never}`)
  }
}

/** The name of the file with the text of a row, which counts from 0. */
export function fileOf(index: number): string {
  return `change-${index + 1}.yaml`
}

type ListField = Exclude<keyof WhatIfQuestion, 'namespace' | 'each'>

/** A question, and the path of each row in it. */
export interface BuiltQuestion {
  question: WhatIfQuestion
  paths: string[]
}

/** Returns the body of the API for the rows. */
export function buildQuestion(rows: readonly QuestionRow[]): BuiltQuestion {
  const fields: Partial<Record<ListField, unknown[]>> = {}
  const paths = rows.map((row, i) => {
    const [field, item] = fieldOf(row, i)
    const items = fields[field] ?? []
    fields[field] = items
    return `${field}[${items.push(item) - 1}]`
  })
  return { question: fields as WhatIfQuestion, paths }
}

function fieldOf(row: QuestionRow, index: number): [field: ListField, item: unknown] {
  const supposition = suppositionOf(row)
  switch (supposition?.kind) {
    case undefined:
      return ['files', { file: fileOf(index), text: row.text }]
    case 'clusterLost':
      return ['clusterLost', supposition.cluster]
    case 'tainted':
      return ['taints', { cluster: supposition.cluster, ...supposition.taint }]
    case 'untainted':
      return ['taintsRemoved', { cluster: supposition.cluster, key: supposition.key }]
    case 'dataMoved':
      return ['data', { source: supposition.source, clusters: supposition.clusters }]
    case 'sourceStale':
      return ['sourcesStale', supposition.source]
    case 'deleted':
      return ['deleted', supposition.object]
    default:
      throw new Error(`unknown supposition ${supposition satisfies never}`)
  }
}

/** A sentence about what is wrong with a question, and the number of the row, which counts from 0. */
export interface QuestionProblem {
  text: string
  row?: number
}

/** Says which row a problem is about, if it is about one. */
export function placeProblem({ path, message }: BodyProblem, paths: readonly string[]): QuestionProblem {
  const row = paths.findIndex((each) => path === each || path?.startsWith(`${each}.`))
  if (row < 0) return { text: path === undefined ? message : `${path}: ${message}` }
  const field = path?.slice(paths[row]?.length).replace(/^\./, '')
  return { row, text: `change ${row + 1}${field ? `, ${field}` : ''}: ${message}` }
}

/** Returns the problem of a body with more than these bytes; it names the row with the longest text. */
export function sizeProblem(rows: readonly QuestionRow[], body: object, maxBytes: number): QuestionProblem | undefined {
  const bytes = new TextEncoder().encode(JSON.stringify(body)).length
  if (bytes <= maxBytes) return undefined
  const sizes = rows.map((row) => (row.kind === 'applied' ? row.text : Object.values(row).join('')).length)
  const row = sizes.indexOf(Math.max(...sizes))
  return {
    row,
    text: `change ${row + 1}: is the longest of a question with ${bytes} bytes; give at most ${maxBytes}, or use the command`,
  }
}

export interface CommandSettings {
  /** Of objects to delete, and of manifests without one. */
  namespace: string | undefined
  /** The folder that the page reads; undefined for a hub. */
  folder: string | undefined
}

/** Returns the rows with their numbers, in the order of the API: of the options of the command, only the order of taints counts. */
function inOrder(rows: readonly QuestionRow[]): { row: QuestionRow; i: number }[] {
  const numbered = rows.map((row, i) => ({ row, i }))
  const isRemoval = ({ row }: { row: QuestionRow }) => row.kind === 'untainted'
  return [...numbered.filter(isRemoval), ...numbered.filter((each) => !isRemoval(each))]
}

/** Returns the command that asks the same question. Undefined while a row lacks a text. */
export function commandOf(rows: readonly QuestionRow[], { namespace, folder }: CommandSettings): string | undefined {
  if (rows.some((row) => ROW_KINDS[row.kind].needs.some((field) => row[field].trim() === ''))) return undefined
  const isNamespaced = rows.some(({ kind }) => kind === 'applied' || kind === 'deleted')
  const words = [
    ...inOrder(rows).flatMap(({ row, i }) => {
      const supposition = suppositionOf(row)
      if (!supposition) return ['-f', fileOf(i)]
      const { option, text } = formatSupposition(supposition)
      // Otherwise the value would be taken for an option.
      return text.startsWith('-') ? [`--${option}=${text}`] : [`--${option}`, text]
    }),
    ...(isNamespaced ? ['-n', namespace ?? 'default'] : []),
    ...(folder === undefined ? [] : ['--folder', folder]),
  ]
  return ['lodestone what-if', ...words.map(shellWord)].join(' ')
}
