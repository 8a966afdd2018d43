/** Finds the claims that decide where the given manifests are placed. */
import { type DataSource, dataSources } from '../../../api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims } from '../../../api/data-source-claim.ts'
import { type K8sObject, keyOfObject, referenceOf } from '../../../api/meta.ts'
import { workloadKey } from '../../../core/data-source-claim/keys.ts'
import type { Manifest } from '../../../store/folder/manifests.ts'
import { queryKeyOfClaim, queryKeyOfSource } from '../../../store/kinds/query-key.ts'
import type { ObjectStore } from '../../../store/store.ts'
import { hasType, validateManifest } from '../input/validate-manifest.ts'

/**
 * Returns the given claims and those that name a given workload, without claims that a given DataSource answers. Invalid objects are left out,
 * because admission rejects them.
 */
export function claimsToLocate(manifests: readonly Manifest[], store: ObjectStore): DataSourceClaim[] {
  const objects: K8sObject[] = manifests
    .map(({ object }) => object)
    .filter((object) => validateManifest(object).length === 0)
  const given = objects.filter((object) => hasType(dataSourceClaims, object)) as DataSourceClaim[]
  const answered = new Set(
    objects.filter((object) => hasType(dataSources, object)).map((object) => queryKeyOfSource(object as DataSource)),
  )
  const stored = objects.flatMap((object) =>
    store.byIndex(dataSourceClaims, 'workload', workloadKey(referenceOf(object))),
  )
  // A given claim replaces the stored one with the same name.
  const claims = new Map([...stored, ...given].map((claim) => [keyOfObject(claim), claim]))
  return [...claims.values()].filter((claim) => !answered.has(queryKeyOfClaim(claim)))
}
