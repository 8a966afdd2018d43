/** Finds the fields of a claim that the API server drops, since another CRD of claims has replaced that of Lodestone. */
import type { DataSourceClaim } from '../../api/data-source-claim.ts'
import { isObject, sortedUnique } from '../../base/json.ts'

/**
 * Returns the fields of the spec that a client has set and that the claim lacks, such as `spec.policy`. When a client removes a field, the API server
 * removes it from the managers of all clients too. But when a CRD lacks the field, the API server drops it from each answer, and the managers stay. It
 * is stored until the next write of the claim, also of its status.
 *
 * @param claim as the API server returned it, with its `managedFields`
 */
export function droppedFields({ metadata, spec }: DataSourceClaim): string[] {
  const { managedFields } = metadata
  if (!Array.isArray(managedFields)) return []
  return sortedUnique(
    managedFields.flatMap(({ fieldsV1, subresource }) => {
      const owned = isObject(fieldsV1) && !subresource ? fieldsV1[`${FIELD}spec`] : undefined
      const ofPolicy = isObject(owned) ? owned[`${FIELD}policy`] : undefined
      return [...missing(owned, spec, 'spec'), ...(spec.policy ? missing(ofPolicy, spec.policy, 'spec.policy') : [])]
    }),
  )
}

/** The begin of a key that names a field (meta/v1 FieldsV1). */
const FIELD = 'f:'

function missing(owned: unknown, value: object, at: string): string[] {
  if (!isObject(owned)) return []
  const names = Object.keys(owned).flatMap((key) => (key.startsWith(FIELD) ? [key.slice(FIELD.length)] : []))
  return names.filter((name) => !Object.hasOwn(value, name)).map((name) => `${at}.${name}`)
}

/** Says what is missing, with the remedy: a claim without its policy or its attributes is another claim. */
export function describeDropped(fields: readonly string[]): string {
  return `the CRD of claims has no ${fields.join(', ')}, which this claim has set; apply the CRDs of Lodestone, then the claim`
}
