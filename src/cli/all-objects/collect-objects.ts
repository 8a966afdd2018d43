/** Lists the objects of a kind for a command that changes them. */
import { type K8sObject, type ResourceType, referenceTitle } from '../../api/meta.ts'
import { systemClock } from '../../base/time/clock.ts'
import { withType } from '../../store/any-kind.ts'
import type { ApiConnection } from '../../store/cluster/api-connection.ts'
import { ApiError } from '../../store/cluster/api-error.ts'
import { listAll } from '../../store/cluster/watch/pager.ts'
import type { ObjectName } from '../../store/store.ts'
import { type Patience, patiently } from './patient-connection.ts'

/** Fewer than the default: most kinds are listed as whole objects. */
const PAGE_SIZE = 500

/**
 * Lists all objects of a kind page by page, in a version that the API server serves. A kind that it does not serve has none.
 *
 * @param pick receives each object and the kind in the served version, and returns what to keep of it
 */
export async function collectObjects<T>(
  type: ResourceType,
  { connection, signal, clock = systemClock }: Patience & { connection: ApiConnection },
  pick: (object: K8sObject, type: ResourceType) => readonly T[],
  metadataOnly = false,
): Promise<T[]> {
  for (const version of [type.version, ...(type.otherVersions ?? [])]) {
    const served = { ...type, version }
    let found: T[] = []
    const receiver = {
      contact: () => undefined,
      begin: () => {
        found = []
      },
      add: (raw: K8sObject) => {
        found.push(...pick(withType(served, raw), served))
      },
    }
    const kind = { type: served, metadataOnly }
    try {
      const options = { pageSize: PAGE_SIZE }
      await patiently(() => listAll({ connection, kind, clock, options, signal, ...receiver }), { signal, clock })
      return found
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404) throw error
    }
  }
  return []
}

/** Returns `Kind namespace/name` of an object of which only the kind and the name are kept. */
export function titleOfListed({ type, namespace, name }: ObjectName & { type: ResourceType }): string {
  return referenceTitle({ kind: type.kind, namespace, name })
}
