/**
 * Finds the mistyped fields of a manifest. `kubectl` has them rejected (`--validate=strict`), and the API server drops them for other clients:
 * a policy without its placement allows every cluster.
 */
import { dataSources } from '../../../api/data-source.ts'
import { dataSourceClaims } from '../../../api/data-source-claim.ts'
import { clusterPropagationPolicies, propagationPolicies } from '../../../api/karmada.ts'
import type { K8sObject, ResourceType } from '../../../api/meta.ts'
import { dataSourceSchema } from '../../../api/schemas/data-source.ts'
import { dataSourceClaimSchema } from '../../../api/schemas/data-source-claim.ts'
import { policySchema } from '../../../api/schemas/karmada.ts'
import { volumeManagerSchema } from '../../../api/schemas/volume-manager.ts'
import { volumeManagers } from '../../../api/volume-manager.ts'
import { ErrorList, type FieldError } from '../../../base/field-errors.ts'
import { defined, isObject } from '../../../base/json.ts'
import type { JsonSchema } from '../../../base/schema/explain-mismatch.ts'
import { suggest } from '../../../base/suggest.ts'
import { hasType } from './validate-manifest.ts'

interface Fields {
  /** The fields by their place. One without `properties` and `items` may have any value. */
  schema: JsonSchema
  /** The paths of each field that is not in a list, by its name. The one nearest to the root is the last. */
  places: ReadonlyMap<string, readonly string[]>
  /** Whether every other field is a mistake. Otherwise, one that resembles no field may be of a later version. */
  isComplete: boolean
}

const FIELDS: readonly { types: readonly ResourceType[]; fields: Fields }[] = [
  {
    types: [propagationPolicies, clusterPropagationPolicies],
    fields: { ...ofObject(policySchema), isComplete: false },
  },
  ...[
    { type: dataSourceClaims, schema: dataSourceClaimSchema },
    { type: dataSources, schema: dataSourceSchema },
    { type: volumeManagers, schema: volumeManagerSchema },
  ].map(({ type, schema }) => ({ types: [type], fields: ofOurKind(schema) })),
]

/** Returns the mistyped fields of a manifest. Those in the spec of our kinds are left to the webhook, which rejects them. */
export function findMistypedFields(object: K8sObject): FieldError[] {
  const { fields } = FIELDS.find(({ types }) => types.some((type) => hasType(type, object))) ?? {}
  const errors = new ErrorList()
  if (fields) addUnknownFields(object, fields.schema, '', fields, errors)
  return errors.errors()
}

function addUnknownFields(value: unknown, schema: JsonSchema, path: string, fields: Fields, errors: ErrorList): void {
  const { items, properties } = schema
  if (items && Array.isArray(value)) {
    value.forEach((item: unknown, i) => void addUnknownFields(item, items, `${path}[${i}]`, fields, errors))
  }
  if (!properties || !isObject(value)) return
  for (const [name, member] of Object.entries(value)) {
    const at = path === '' ? name : `${path}.${name}`
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined
    const similar = known ? '' : similarField(name, path, properties, fields)
    if (known) addUnknownFields(member, known, at, fields, errors)
    else if (similar || fields.isComplete)
      errors.add(() => ({ path: at, code: 'Invalid', message: `unknown field${similar}` }))
  }
}

/** The place of a field with this name, best below the same parent; otherwise a field of the parent with a similar name. */
function similarField(
  name: string,
  parent: string,
  properties: Record<string, JsonSchema>,
  { places }: Fields,
): string {
  const found = places.get(name)
  const place = found?.findLast((one) => one.startsWith(`${parent}.`)) ?? found?.at(-1)
  return place === undefined ? suggest(name, Object.keys(properties)) : ` (did you mean ${place}?)`
}

function ofObject(schema: JsonSchema): Omit<Fields, 'isComplete'> {
  const { metadata: _, ...own } = schema.properties ?? {}
  return {
    schema: { properties: { apiVersion: {}, kind: {}, metadata: {}, ...own } },
    places: placesByName(placesOf({ properties: defined({ spec: own['spec'] }) })),
  }
}

function ofOurKind(schema: JsonSchema): Fields {
  const { places } = ofObject(schema)
  return { schema: ofObject({ properties: { spec: {}, status: {} } }).schema, places, isComplete: true }
}

function placesByName(places: readonly [string, string][]): Map<string, string[]> {
  const byName = Map.groupBy(places, ([name]) => name)
  return new Map([...byName].map(([name, found]) => [name, found.map(([, path]) => path)]))
}

/** The name and the path of each field. The deepest come first. */
function placesOf({ properties = {} }: JsonSchema, path = ''): [string, string][] {
  const own = Object.keys(properties).map((name): [string, string] => [name, `${path}${name}`])
  return [...Object.entries(properties).flatMap(([name, schema]) => placesOf(schema, `${path}${name}.`)), ...own]
}
