/** The table of kinds whose objects follow a workload to which they relate: the shipped file, and entries of the configuration. */
import type { ResourceType } from '../../api/meta.ts'
import type { FieldError } from '../../base/field-errors.ts'
import { parseJsonPath } from '../../base/json-path.ts'
import { suggest } from '../../base/suggest.ts'
import shipped from './related-kinds.json' with { type: 'json' }
import { divideEntry, keyOfKind, nameSchema, type TypeEntry, typeFields, typeProperties } from './type-entry.ts'

/** How objects of a kind relate to workloads of their namespace. Paths are JSONPath. */
export interface RelatedKindEntry extends TypeEntry {
  /** References (`kind`, `name`) to a workload, or to a Service or ServiceAccount of its pods; with the kind if the reference may lack it. */
  references?: { path: string; kind?: string }[]
  /** Label selectors of pods. */
  podSelectors?: string[]
  /** Label selectors of Services that select the pods. */
  serviceSelectors?: string[]
  /** Paths in a pod spec with names of objects of this kind. */
  podPaths?: string[]
}

/** A kind of the table, as the configuration enables it. */
export interface RelatedKind extends Omit<RelatedKindEntry, keyof TypeEntry> {
  type: ResourceType
}

const SHIPPED: readonly RelatedKindEntry[] = shipped

/** The kinds that the configuration enables by name. */
export const RELATED_KIND_NAMES: readonly string[] = SHIPPED.map(({ kind }) => kind)

const path = { type: 'string', minLength: 1, maxLength: 1024 }
const paths = { type: 'array', maxItems: 16, items: path }

const entrySchema = {
  type: 'object',
  required: typeFields,
  properties: {
    ...typeProperties,
    references: {
      type: 'array',
      maxItems: 16,
      items: { type: 'object', required: ['path'], properties: { path, kind: nameSchema } },
    },
    podSelectors: paths,
    serviceSelectors: paths,
    podPaths: paths,
  },
}

/** The form of `dependencies.related` and `dependencies.relatedKinds`. */
export const relatedNamesSchema = { type: 'array', maxItems: 50, items: nameSchema }
export const relatedKindsSchema = { type: 'array', maxItems: 50, items: entrySchema }

export interface RelatedConfig {
  /** Kinds of the shipped table. */
  related: readonly string[]
  /** Further kinds. */
  relatedKinds: readonly RelatedKindEntry[]
}

/** Returns the enabled kinds. */
export function buildRelatedKinds({ related, relatedKinds }: RelatedConfig): RelatedKind[] {
  const enabled = [...SHIPPED.filter(({ kind }) => related.includes(kind)), ...relatedKinds]
  return enabled.map((entry) => {
    const { type, rest } = divideEntry(entry, true)
    return { type, ...rest }
  })
}

/** Returns the errors that the schemas do not find: unknown names, invalid paths, and kinds with several entries. */
export function validateRelatedKinds({ related, relatedKinds }: RelatedConfig, at: string): FieldError[] {
  const unknown = related.flatMap((word, i) => {
    if (RELATED_KIND_NAMES.includes(word)) return []
    const message = `Invalid value: "${word}": must be one of ${RELATED_KIND_NAMES.join(', ')}${suggest(word, RELATED_KIND_NAMES)}`
    return [{ path: `${at}.related[${i}]`, code: 'NotSupported' as const, message }]
  })
  const seen = new Set(SHIPPED.filter(({ kind }) => related.includes(kind)).map(keyOfKind))
  const wrong = relatedKinds.flatMap((entry, i) => {
    const twice = seen.has(keyOfKind(entry))
    seen.add(keyOfKind(entry))
    const invalid = entryPaths(entry).flatMap(([field, value]) => {
      const parsed = parseJsonPath(value)
      return 'error' in parsed ? [invalidValue(`${at}.relatedKinds[${i}].${field}`, value, parsed.error)] : []
    })
    return [
      ...(twice ? [invalidValue(`${at}.relatedKinds[${i}].kind`, entry.kind, 'must have one entry; join both')] : []),
      ...invalid,
    ]
  })
  return [...unknown, ...wrong]
}

function entryPaths({ references = [], podSelectors = [], serviceSelectors = [], podPaths = [] }: RelatedKindEntry) {
  const listed = { podSelectors, serviceSelectors, podPaths }
  return [
    ...references.map((reference, i): [string, string] => [`references[${i}].path`, reference.path]),
    ...Object.entries(listed).flatMap(([field, values]) =>
      values.map((value, i): [string, string] => [`${field}[${i}]`, value]),
    ),
  ]
}

function invalidValue(at: string, value: string, message: string): FieldError {
  return { path: at, code: 'Invalid', message: `Invalid value: "${value}": ${message}` }
}
