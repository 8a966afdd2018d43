/** What is wrong with a manifest of ours, by the same rules as admission. */
import type { DataSource } from '../api/data-source.ts'
import { dataSources } from '../api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims } from '../api/data-source-claim.ts'
import { apiVersionOf, type K8sObject, type ResourceType } from '../api/meta.ts'
import { validateDataSource } from '../core/data-source/validate.ts'
import { validateDataSourceClaim } from '../core/data-source-claim/validate.ts'
import type { FieldError } from '../core/field-errors.ts'

/** Every error of a claim or source; nothing for any other kind, which is not ours to judge. */
export function validateManifest(object: K8sObject): FieldError[] {
  if (isOf(dataSourceClaims, object)) return validateDataSourceClaim(object as DataSourceClaim)
  if (isOf(dataSources, object)) return validateDataSource(object as DataSource)
  return []
}

/** Whether the object is of this kind and version. */
export function isOf(type: ResourceType, { apiVersion, kind }: K8sObject): boolean {
  return kind === type.kind && apiVersion === apiVersionOf(type)
}
