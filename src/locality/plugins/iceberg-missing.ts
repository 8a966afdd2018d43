/** Finds out what the 404 of an Iceberg catalog for a table means, with further requests if the response does not say it. */
import type { NamedTable } from '../answers/absence-message.ts'
import { icebergAbsence } from '../answers/iceberg-absence.ts'
import { members } from '../answers/members.ts'
import type { HttpResponse } from '../http/http.ts'
import { tryJson } from '../http/json.ts'
import { optional } from '../locality.ts'

export interface MissingTable {
  named: NamedTable
  /** The paths of the namespaces, of the one of the table, and of a view with its name, if the catalog has views. */
  paths: { namespaces: string; namespace: string; view: string | undefined }
  get(path: string): Promise<HttpResponse>
}

/**
 * Whether the catalog proves that a table does not exist. Either its error says so, or the path is right: the catalog has the namespace, or
 * lists namespaces. Throws if one of these requests fails.
 */
export async function isAbsent(response: HttpResponse, { named, paths, get }: MissingTable): Promise<boolean> {
  const absence = icebergAbsence(tryJson(response), named)
  if (absence !== 'unclear') return absence === 'absent'
  const namespace = await get(paths.namespace)
  if (namespace.status === 200) return Array.isArray(members(tryJson(namespace))?.['namespace'])
  const ofNamespace = namespace.status === 404 ? icebergAbsence(tryJson(namespace), named) : 'other'
  if (ofNamespace !== 'unclear') return ofNamespace === 'absent'
  const all = await get(`${paths.namespaces}?pageToken=&pageSize=1`)
  return all.status === 200 && Array.isArray(members(tryJson(all))?.['namespaces'])
}

/** Whether the name is one of a view. A request that fails does not change that there is no table. */
export async function isView({ paths: { view }, get }: MissingTable): Promise<boolean> {
  const response = view === undefined ? undefined : await optional(get(view))
  return response?.status === 200 && members(members(tryJson(response))?.['metadata']) !== undefined
}
