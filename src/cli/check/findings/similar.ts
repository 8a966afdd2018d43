/** Suggests the object that a claim or a policy is likely to mean. */
import { groupOf, type K8sObject } from '../../../api/meta.ts'
import { suggest } from '../../../base/suggest.ts'
import type { WorkloadKinds } from '../../../core/workload-kinds/kinds.ts'
import { objectTitle } from '../input/place-manifests.ts'

/** An object by its name. Without a namespace, it is cluster-scoped, or in any namespace. */
export interface Meant {
  apiVersion: string
  kind: string
  namespace?: string | undefined
  name: string
}

/** More names are not compared: many selectors may have no object. */
const MAX_COMPARED = 200

/** Returns ` (did you mean …?)` with a workload of a similar name, or of the same name and another kind or namespace; empty without one. */
export function hintFor(meant: Meant, objects: readonly K8sObject[], kinds: WorkloadKinds): string {
  const sameKind = objects.filter(
    ({ apiVersion, kind, metadata }) =>
      kind === meant.kind &&
      groupOf(apiVersion) === groupOf(meant.apiVersion) &&
      (metadata.namespace ?? '') === (meant.namespace ?? ''),
  )
  const similar = suggest(
    meant.name,
    sameKind.slice(0, MAX_COMPARED).map(({ metadata }) => metadata.name ?? ''),
  )
  if (similar !== '') return similar
  const namesake = objects.find(
    ({ apiVersion, kind, metadata }) => metadata.name === meant.name && kinds.find(apiVersion, kind) !== undefined,
  )
  return namesake ? ` (did you mean ${objectTitle(namesake)} of ${namesake.apiVersion}?)` : ''
}
