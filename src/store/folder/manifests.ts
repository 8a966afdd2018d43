/** Parses the objects of a YAML or JSON file, as kubectl reads them. Errors have a line and the expected value. */
import { type Document, isAlias, isMap, isSeq, LineCounter, type Node } from 'yaml'
import type { K8sObject } from '../../api/meta.ts'
import { defined, isObject, withoutNulls } from '../../base/json.ts'
import { findJsonComment, JSON_COMMENT_MESSAGE } from '../../base/json-comment.ts'
import { readYaml, type YamlDocument } from './kubernetes-yaml.ts'
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

const MAX_LIST_DEPTH = 8

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
    for (const document of readYaml(text, lines)) readDocument(document)
  } catch (error) {
    report(undefined, `cannot be read: ${(error as Error).message}`)
  }
  return parsed

  function readDocument({ document, value, mistakes }: YamlDocument): void {
    for (const { offset, message, isSyntax } of mistakes) report(offset, message, isSyntax)
    if (mistakes.length > 0 || !document?.contents) return
    try {
      readValue(value, document.contents, document, 0)
    } catch (error) {
      report(document.contents.range?.[0], `cannot be read: ${(error as Error).message}`)
    }
  }

  function readValue(value: unknown, node: Node | undefined, document: Document, depth: number): void {
    const target = isAlias(node) ? node.resolve(document) : node
    const place = node ?? target
    if (value === null || value === undefined) return
    const items = listItems(value)
    if (items === undefined) readObject(value, place, document)
    else if (depth >= MAX_LIST_DEPTH) report(place?.range?.[0], `lists are nested deeper than ${MAX_LIST_DEPTH}`)
    else readItems(items, target, document, depth + 1)
  }

  function readItems(items: unknown[], list: Node | undefined, document: Document, depth: number): void {
    const sequence = isMap(list) ? list.get('items', true) : undefined
    for (const [index, item] of items.entries()) {
      const node = isSeq(sequence) ? (sequence.items[index] as Node | undefined) : list
      readValue(item, node, document, depth)
    }
  }

  function readObject(value: unknown, place: Node | undefined, document: Document): void {
    const start = place?.range?.[0]
    const mistake = findMistake(value, options)
    if (mistake !== undefined) {
      report(start, mistake)
      return
    }
    const find = place && ((path: string) => fieldPosition(path, place, document, lines))
    parsed.manifests.push({
      // The edge of all manifests: behind it, a field without a value is absent, as behind an API server.
      object: withoutNulls(value as K8sObject),
      file,
      ...positionAt(start, lines),
      ...defined({ positionOf: (options.positions && find) || undefined }),
    })
  }
}

/** The items of a `List` or `FooList`; undefined for any other object. Items of a typed list get its type. */
function listItems(value: unknown): unknown[] | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { kind, apiVersion, items } = value as { kind?: unknown; apiVersion?: unknown; items?: unknown }
  if (typeof kind !== 'string' || !kind.endsWith('List')) return undefined
  // A template without items writes null: kubectl reads an empty list (apimachinery, unstructuredJSONScheme.decode).
  if (items === null) return []
  if (!Array.isArray(items)) return undefined
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
