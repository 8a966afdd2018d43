/** Reads the response of an Iceberg catalog to a load of a table, for the snapshot of a query. */
import { hasOwnLocationProvider, hasRef, parseTable, type TableInfo } from '../answers/iceberg.ts'
import { type Members, members } from '../answers/members.ts'
import type { HttpResponse } from '../http/http.ts'
import { readJson } from '../http/json.ts'
import { LocalityError, type LocalityQuery } from '../locality.ts'

/**
 * Returns the location and size of a table. The attribute `ref` names a branch or tag, the attribute `snapshot-id` a snapshot.
 *
 * @throws LocalityError if the response has no location, if a class of the user chooses it, or the table has no such branch or tag
 */
export function readTable(response: HttpResponse, { name, attributes }: LocalityQuery): TableInfo {
  const body = readJson(response)
  const { ref, 'snapshot-id': snapshotId } = attributes
  const table = parseTable(body, { ref, snapshotId })
  if (table === undefined) throw new LocalityError('invalidResponse', `${response.what}: the answer has no location`)
  refuseLocationProvider(name, members(members(members(body)?.['metadata'])?.['properties']))
  if (ref === undefined || hasRef(body, ref)) return table
  throw new LocalityError(
    'rejected',
    `table ${name} has no branch or tag ${ref}; correct the attribute ref of the claim`,
  )
}

/** Throws if the metadata of a table does not say where its data is. */
export function refuseLocationProvider(name: string, properties: Members | undefined): void {
  if (properties === undefined || !hasOwnLocationProvider(properties)) return
  const reason = 'its property write.location-provider.impl names a class that chooses the place of its files'
  throw new LocalityError('rejected', `${name}: cannot be located: ${reason}`)
}
