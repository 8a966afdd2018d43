/** The fields by which an entry of either table names a kind, with their schemas and the type that they describe. */
import type { ResourceType } from '../../api/meta.ts'
import { defined } from '../../base/json.ts'

export interface TypeEntry {
  group: string
  versions: string[]
  kind: string
  plural: string
  description?: string
}

/** The required fields. */
export const typeFields = ['group', 'versions', 'kind', 'plural']

export const nameSchema = { type: 'string', minLength: 1, maxLength: 253 }

export const typeProperties = {
  group: {
    type: 'string',
    maxLength: 253,
    description: 'The group of the resource, as in its CRD; that of core is `""`.',
  },
  versions: {
    type: 'array',
    minItems: 1,
    maxItems: 8,
    items: nameSchema,
    description: 'The first one that the API server serves is read; all have the same paths.',
  },
  kind: { ...nameSchema, description: 'The kind, as in the CRD.' },
  plural: { ...nameSchema, description: 'The plural, as in the CRD.' },
  description: { type: 'string', description: 'For readers.' },
}

/** Divides an entry into the type that it describes and its other fields. */
export function divideEntry<Entry extends TypeEntry>(
  { group, versions, kind, plural, description: _, ...rest }: Entry,
  namespaced: boolean,
): { type: ResourceType; rest: Omit<Entry, keyof TypeEntry> } {
  const [version = '', ...otherVersions] = versions
  return {
    type: defined({
      group,
      version,
      kind,
      plural,
      namespaced,
      otherVersions: otherVersions.length > 0 ? otherVersions : undefined,
    }),
    rest,
  }
}

/** Returns the key of a kind in all of its versions: a table has one entry for it. */
export function keyOfKind({ group, kind }: { group: string; kind: string }): string {
  return `${group}/${kind}`
}
