/** Parses the objects of a YAML or JSON file, as kubectl reads them. Errors have a line and the expected value. */
import {
  type Document,
  type DocumentOptions,
  isAlias,
  isMap,
  isSeq,
  LineCounter,
  type Node,
  type ParseOptions,
  parseAllDocuments,
  type ScalarTag,
  type SchemaOptions,
} from 'yaml'
import type { K8sObject } from '../../api/meta.ts'
import { defined, isObject, withoutNulls } from '../../base/json.ts'
import { findJsonComment, JSON_COMMENT_MESSAGE } from '../../base/json-comment.ts'
import { fieldPosition, type Position, positionAt } from './positions.ts'

/** An object with its place. */
export interface Manifest extends Position {
  object: K8sObject
  file: string
  /** Returns the place of a field. Absent without the option `positions`. */
  positionOf?: (path: string) => Position
}

export interface ManifestError extends Position {
  file: string
  message: string
  /** Whether the text is not YAML. Then most of the other errors of the file have the same cause. */
  isSyntax?: true
}

export interface ParsedManifests {
  manifests: Manifest[]
  /** In the order of the file; empty when every document is valid. */
  errors: ManifestError[]
}

export interface ParseManifestsOptions {
  /** Whether manifests have `positionOf`. It keeps the parsed file in memory. */
  positions?: boolean
  /** Whether a manifest may have a `generateName` instead of a name. A served file may not: every read would create an object. */
  generateName?: boolean
}

/** The limit of the YAML parser for aliases and their nodes. It stops the "billion laughs" attack. */
const MAX_ALIASES = 100
const MAX_LIST_DEPTH = 8
/** The most open brackets. With more, the parser would need seconds to find that they are not closed. */
const MAX_OPEN_BRACKETS = 1_000

/**
 * Parses every document of `text`. It unwraps `List` and typed lists, and skips empty documents. It throws nothing: errors are in the
 * result.
 */
export function parseManifests(text: string, file: string, options: ParseManifestsOptions = {}): ParsedManifests {
  const lines = new LineCounter()
  const parsed: ParsedManifests = { manifests: [], errors: [] }
  const report = (offset: number | undefined, message: string, isSyntax = false): void => {
    parsed.errors.push({ file, ...positionAt(offset, lines), message, ...defined({ isSyntax: isSyntax || undefined }) })
  }
  const comment = findJsonComment(text)
  if (comment !== undefined) {
    parsed.errors.push({ file, ...comment, message: JSON_COMMENT_MESSAGE, isSyntax: true })
    return parsed
  }
  try {
    for (const document of parseDocuments(text, lines)) readDocument(document)
  } catch (error) {
    report(undefined, `cannot be read: ${(error as Error).message}`)
  }
  return parsed

  function readDocument(document: Document.Parsed): void {
    const mistakes = [...document.errors, ...document.warnings]
    for (const mistake of mistakes) report(mistake.pos[0], `is not valid YAML: ${mistake.message}`, true)
    if (mistakes.length > 0 || document.contents === null) return
    const start = document.contents.range?.[0]
    try {
      readValue(documentValue(document), document.contents, document, 0)
    } catch (error) {
      report(start, `cannot be read: ${(error as Error).message}`)
    }
  }

  function readValue(value: unknown, node: Node | undefined, document: Document, depth: number): void {
    const target = isAlias(node) ? node.resolve(document) : node
    const place = node ?? target
    const start = place?.range?.[0]
    if (value === null || value === undefined) return
    const items = listItems(value)
    if (items === undefined) {
      const mistake = findMistake(value, options)
      // The edge of all manifests: behind it, a field without a value is absent, as behind an API server.
      const find = place && ((path: string) => fieldPosition(path, place, document, lines))
      if (mistake === undefined) {
        parsed.manifests.push({
          object: withoutNulls(value as K8sObject),
          file,
          ...positionAt(start, lines),
          ...defined({ positionOf: (options.positions && find) || undefined }),
        })
      } else report(start, mistake)
    } else if (depth >= MAX_LIST_DEPTH) {
      report(start, `lists are nested deeper than ${MAX_LIST_DEPTH}`)
    } else {
      const sequence = isMap(target) ? target.get('items', true) : undefined
      for (const [index, item] of items.entries()) {
        const itemNode = isSeq(sequence) ? (sequence.items[index] as Node | undefined) : target
        readValue(item, itemNode, document, depth + 1)
      }
    }
  }
}

/** Parses the documents of a text in the dialect of kubectl. Throws for text that is nested too deeply. */
export function parseDocuments(text: string, lineCounter: LineCounter): Document.Parsed[] {
  if (openBrackets(text) > MAX_OPEN_BRACKETS)
    throw new Error(`more than ${MAX_OPEN_BRACKETS} brackets are open at once`)
  // The recursive parser throws when the nesting exceeds the stack. An empty text has no documents.
  return [...parseAllDocuments(text, { ...KUBERNETES_YAML, lineCounter })]
}

/** The value of a document. Throws for too many aliases, and for a value that contains itself: no API server can store it. */
export function documentValue(document: Document.Parsed): unknown {
  const value: unknown = document.toJS({ maxAliasCount: MAX_ALIASES })
  // Only an alias can create a value that contains itself, for which JSON.stringify throws.
  JSON.stringify(value)
  return value
}

/** The most brackets that are open at once. It counts brackets in strings too, because they are few, or closed as well. */
function openBrackets(text: string): number {
  let most = 0
  let open = 0
  for (const bracket of text.matchAll(/[[\]{}]/g)) {
    open += bracket[0] === '[' || bracket[0] === '{' ? 1 : -1
    if (open > most) most = open
  }
  return most
}

/** The items of a `List` or `FooList`; undefined for any other object. Items of a typed list get its type. */
function listItems(value: unknown): unknown[] | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { kind, apiVersion, items } = value as { kind?: unknown; apiVersion?: unknown; items?: unknown }
  if (typeof kind !== 'string' || !kind.endsWith('List') || !Array.isArray(items)) return undefined
  if (kind === 'List') return items
  const type = { apiVersion, kind: kind.slice(0, -'List'.length) }
  return items.map((item: unknown) => (typeof item === 'object' && item !== null ? { ...type, ...item } : item))
}

/** The first reason why a value is not a Kubernetes object; undefined when it is one. */
export function findMistake(value: unknown, options: ParseManifestsOptions = {}): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return `expected a Kubernetes object (apiVersion, kind, metadata.name), found ${Array.isArray(value) ? 'a list' : `a ${typeof value}`}`
  }
  const { apiVersion, kind, metadata } = value as { [key: string]: unknown }
  if (!isText(apiVersion)) return 'apiVersion is missing: expected for example v1 or apps/v1'
  if (!isText(kind)) return `kind is missing: expected a kind of ${apiVersion}`
  if (typeof metadata !== 'object' || metadata === null) return `metadata is missing: ${kind} needs a metadata.name`
  const { name, namespace, generateName, labels, annotations } = metadata as { [key: string]: unknown }
  if (!isText(name) && !(options.generateName && isText(generateName))) {
    return isText(generateName)
      ? 'metadata.name is missing: a file cannot be served under a generateName'
      : `metadata.name is missing: ${kind} needs a name (in quotes when it looks like a number)`
  }
  if (namespace !== undefined && namespace !== null && typeof namespace !== 'string')
    return 'metadata.namespace: expected a string'
  const { ownerReferences } = metadata as { ownerReferences?: unknown }
  if (ownerReferences !== undefined && ownerReferences !== null && !isListOfObjects(ownerReferences))
    return 'metadata.ownerReferences: expected a list of objects'
  return findNonString('metadata.labels', labels) ?? findNonString('metadata.annotations', annotations)
}

function findNonString(path: string, map: unknown): string | undefined {
  if (map === undefined || map === null) return undefined
  if (typeof map !== 'object' || Array.isArray(map)) return `${path}: expected a map of strings`
  const found = Object.entries(map).find(([, value]) => typeof value !== 'string')
  return found && `${path}[${found[0]}]: expected a string, found ${JSON.stringify(found[1])}: put it in quotes`
}

function isListOfObjects(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => isObject(item))
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** `0644`, as in file modes, is octal for kubectl (YAML 1.1) and decimal in YAML 1.2. */
const octal: ScalarTag = {
  tag: 'tag:yaml.org,2002:int',
  default: true,
  test: /^[-+]?0[0-7]+$/,
  resolve: (text) => Number.parseInt(text, 8),
}

/** go-yaml parses these words as booleans. So an API server rejects an annotation `yes` without quotes, and so does Lodestone. */
const words: ScalarTag = {
  tag: 'tag:yaml.org,2002:bool',
  default: true,
  test: /^(?:y|Y|yes|Yes|YES|on|On|ON|n|N|no|No|NO|off|Off|OFF)$/,
  resolve: (text) => /^(?:y|on)/i.test(text),
}

/** The options of every parse. Merge keys work as in kubectl; duplicate keys are rejected, as by `--validate=strict`. */
const KUBERNETES_YAML: ParseOptions & DocumentOptions & SchemaOptions = {
  version: '1.2',
  merge: true,
  uniqueKeys: true,
  customTags: (tags) => [octal, words, ...tags],
  prettyErrors: false,
  logLevel: 'silent',
}
