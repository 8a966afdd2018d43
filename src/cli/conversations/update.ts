/** Writes the actual answers of tests into their files. It replaces `expect` alone, and keeps its comments. */
import { accessSync, constants, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Document, isAlias, isMap, isNode, isScalar, type Pair, type YAMLMap } from 'yaml'
import { describeFileError } from '../../base/file-error.ts'
import { jsonEqual } from '../../base/json.ts'
import { UserError } from '../../base/user-error.ts'
import type { TestFile } from './read-tests.ts'
import type { TestResult } from './run-test.ts'

/** A file cannot be written. The files before it are. */
class UpdateError extends UserError {
  override name = 'UpdateError'
  override readonly exitStatus = 1
}

/** Writes the files of failed tests. Returns their names. Throws `UpdateError`. */
export function updateFiles(files: readonly TestFile[], results: readonly TestResult[]): string[] {
  const failed = new Map(results.filter(({ passed }) => !passed).map((result) => [result.test, result]))
  const written: string[] = []
  for (const { file, text, tests } of files) {
    const changed = tests.flatMap((test) => failed.get(test) ?? [])
    if (changed.length === 0) continue
    // From the last document to the first, so that the places of the earlier ones stay valid.
    replaceFile(file, changed.reduceRight(withActual, text))
    written.push(file)
  }
  return written
}

/** Replaces a file as a whole: after an interruption or on a full disk, the file has its old content. A link stays a link. */
function replaceFile(file: string, text: string): void {
  const path = realpathSync(file)
  const temporary = join(dirname(path), `.lodestone-${process.pid}.update`)
  try {
    accessSync(path, constants.W_OK)
    writeFileSync(temporary, text, { mode: statSync(path).mode })
    renameSync(temporary, path)
  } catch (cause) {
    rmSync(temporary, { force: true })
    throw new UpdateError(`${file} cannot be written: ${describeFileError(cause)}`, { cause })
  }
}

/** Returns the text of a file with the actual answer of one test. */
function withActual(text: string, { test: { document }, expected, actual }: TestResult): string {
  const { contents } = document
  const [start, , end] = contents?.range ?? [0, 0, 0]
  const given = isMap(contents) ? pairOfExpect(contents) : undefined
  const place = given && pairRange(given)
  if (refersElsewhere(given?.value)) document.set('expect', document.createNode(actual))
  else setFields(document, ['expect'], expected, actual)
  const pair = isMap(contents) ? pairOfExpect(contents) : undefined
  // A flow map, as in JSON, is written as a whole: the place of one of its members depends on the others.
  if (!isMap(contents) || contents.flow || !pair) {
    return splice(text, start, end, new Document(contents).toString({ ...STYLE, flowCollectionPadding: false }))
  }
  const rendered = new Document({ expect: null })
  rendered.set('expect', pair.value)
  return place ? splice(text, ...place, rendered.toString(STYLE)) : splice(text, end, end, rendered.toString(STYLE))
}

function pairOfExpect({ items }: YAMLMap): Pair | undefined {
  return items.find(({ key }) => isScalar(key) && key.value === 'expect')
}

/** Whether a node has an alias or a merge key, whose fields have no place in it. Such a node is replaced as a whole. */
function refersElsewhere(node: unknown): boolean {
  if (isAlias(node)) return true
  if (!isMap(node)) return false
  return node.items.some(({ key, value }) => (isScalar(key) && isMergeKey(key.value)) || refersElsewhere(value))
}

function isMergeKey(key: unknown): boolean {
  return key === '<<' || typeof key === 'symbol'
}

const STYLE = { lineWidth: 0 }

/** The place of a pair in the text; undefined for one that the text does not have. */
function pairRange({ key, value }: Pair): [number, number] | undefined {
  const start = isNode(key) ? key.range?.[0] : undefined
  const end = isNode(value) ? value.range?.[2] : undefined
  return start === undefined || end === undefined ? undefined : [start, end]
}

function splice(text: string, start: number, end: number, inserted: string): string {
  const before = text.slice(0, start)
  const isOpen = before !== '' && !before.endsWith('\n')
  return `${before}${isOpen ? '\n' : ''}${inserted}${text.slice(end)}`
}

/** Replaces the fields that differ. Objects are compared field by field, so that the comments in them stay. */
function setFields(document: Document.Parsed, path: string[], before: object, after: object): void {
  for (const [name, value] of Object.entries(after)) {
    const old = (before as Record<string, unknown>)[name]
    const at = [...path, name]
    if (jsonEqual(old, value)) continue
    if (name === 'binding' && old && value) setFields(document, at, old, value as object)
    else document.setIn(at, carryComments(document.createNode(value), document.getIn(at, true)))
  }
}

/** Gives a new node the comments of the node that it replaces. */
function carryComments<T>(created: T, replaced: unknown): T {
  if (!isNode(created) || !isNode(replaced)) return created
  if (replaced.comment) created.comment = replaced.comment
  if (replaced.commentBefore) created.commentBefore = replaced.commentBefore
  return created
}
