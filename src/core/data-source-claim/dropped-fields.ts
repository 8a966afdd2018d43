/** Finds the fields of a claim that the API server drops, since another CRD of claims has replaced that of Lodestone. */
import type { DataSourceClaim } from '../../api/data-source-claim.ts'
import { dataSourceClaimSchema } from '../../api/schemas/data-source-claim.ts'
import type { Schema } from '../../api/schemas/schema.ts'
import { isObject, sortedUnique } from '../../base/json.ts'

/**
 * Returns the fields of the spec that a client has set and that the claim lacks, such as `spec.policy`. When a client removes a field, the API server
 * removes it from the managers of all clients too. But when a CRD lacks the field, the API server drops it from each answer, and the managers stay. It
 * is stored until the next write of the claim, also of its status. A field that the CRD of Lodestone lacks does not count: another CRD had it, and
 * nothing reads it.
 *
 * @param claim as the API server returned it, with its `managedFields`
 */
export function droppedFields({ metadata: { managedFields }, spec }: DataSourceClaim): string[] {
  if (!Array.isArray(managedFields)) return []
  const missing = managedFields.flatMap(({ fieldsV1, subresource }) =>
    isObject(fieldsV1) && !subresource ? missingIn(spec, fieldsV1[`${FIELD}spec`], specSchema, 'spec') : [],
  )
  return sortedUnique(missing)
}

const specSchema = dataSourceClaimSchema.properties?.['spec']

/** The begin of a key that names a field (meta/v1 FieldsV1). */
const FIELD = 'f:'

/** The paths of the fields that a client has set, and that a value lacks. */
function missingIn(value: unknown, owned: unknown, schema: Schema | undefined, at: string): string[] {
  if (!isObject(value) || !isObject(owned)) return []
  return Object.entries(schema?.properties ?? {}).flatMap(([name, field]) => {
    const ownedField = owned[`${FIELD}${name}`]
    if (ownedField === undefined) return []
    const path = `${at}.${name}`
    return Object.hasOwn(value, name) ? missingIn(value[name], ownedField, field, path) : [path]
  })
}

/** Says what is missing, with the remedy: a claim without its policy or its attributes is another claim. */
export function describeDropped(fields: readonly string[]): string {
  return `the CRD of claims has no ${fields.join(', ')}, which this claim has set; apply the CRDs of Lodestone, then the claim`
}
