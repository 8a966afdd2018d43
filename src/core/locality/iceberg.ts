/** Reads answers of an Iceberg REST catalog: only where a table is and how large, never what the catalog hands out to open it. */
import { isPrintable } from './check.ts'
import { type Members, members } from './members.ts'

export interface TableFacts {
  location: string
  bytes?: number
}

/** Which snapshot is meant: the current one without either. */
export interface SnapshotChoice {
  ref?: string | undefined
  snapshotId?: string | undefined
}

/** The settings of the catalog about its own paths. */
export interface CatalogPaths {
  prefix: string | undefined
  /** In the form that goes into a URL. */
  separator: string | undefined
}

/** Reads a load-table answer; undefined when it has no location. */
export function parseTable(body: unknown, choice: SnapshotChoice = {}): TableFacts | undefined {
  const metadata = members(members(body)?.['metadata'])
  if (metadata === undefined) return undefined
  const location = dataLocation(metadata) ?? text(members(body)?.['table-location'])
  if (location === undefined) return undefined
  const bytes = snapshotBytes(metadata, choice)
  return bytes === undefined ? { location } : { location, bytes }
}

/** Data files may be elsewhere than the table's root: the properties that move them come first, as writers read them. */
function dataLocation(metadata: Members): string | undefined {
  const properties = members(metadata['properties']) ?? {}
  const objectStorage =
    properties['write.object-storage.enabled'] === 'true' ? text(properties['write.object-storage.path']) : undefined
  return (
    text(properties['write.data.path']) ??
    objectStorage ??
    text(properties['write.folder-storage.path']) ??
    text(metadata['location'])
  )
}

/** The size of the chosen snapshot; 0 for a table without one, undefined when its writer did not say. */
function snapshotBytes(metadata: Members, { ref, snapshotId }: SnapshotChoice): number | undefined {
  const current = metadata['current-snapshot-id'] ?? -1
  // Ids beyond 2^53 are rounded by the JSON parser, in every place alike: they still find each other.
  const refs = members(metadata['refs'])
  const fromRef = ref === undefined ? current : members(refs?.[ref])?.['snapshot-id']
  const id = snapshotId === undefined ? fromRef : Number(snapshotId)
  if (id === -1) return 0
  const snapshots = Array.isArray(metadata['snapshots']) ? metadata['snapshots'] : []
  const snapshot = snapshots.map(members).find((one) => one !== undefined && one['snapshot-id'] === id)
  const size = text(members(snapshot?.['summary'])?.['total-files-size'])
  const bytes = size === undefined ? Number.NaN : Number(size)
  return Number.isSafeInteger(bytes) && bytes >= 0 ? bytes : undefined
}

/** Reads a catalog's configuration: `overrides` win over what we were told, that over `defaults`. Undefined when it is none. */
export function parseCatalogConfig(body: unknown, told: Partial<CatalogPaths> = {}): CatalogPaths | undefined {
  const defaults = members(members(body)?.['defaults'])
  const overrides = members(members(body)?.['overrides'])
  if (defaults === undefined && overrides === undefined) return undefined
  const prefix = text(overrides?.['prefix']) ?? told.prefix ?? text(defaults?.['prefix'])
  const separator =
    text(overrides?.['namespace-separator']) ?? told.separator ?? text(defaults?.['namespace-separator'])
  return isPathText(prefix) && isPathText(separator) ? { prefix, separator } : undefined
}

/** Both become a part of every URL, which servers accept up to about 8 KiB. */
const MAX_PATH_TEXT = 1024

function isPathText(value: string | undefined): boolean {
  return value === undefined || (value.length <= MAX_PATH_TEXT && isPrintable(value))
}

/** The name of the exception an answer speaks of, with or without the `error` envelope; nothing that does not look like one. */
export function errorType(body: unknown): string | undefined {
  const error = members(body)?.['error']
  const type = typeof error === 'string' ? error : (members(error) ?? members(body))?.['type']
  return typeof type === 'string' && /^[A-Za-z][A-Za-z_]{0,80}$/.test(type) ? type : undefined
}

const ABSENT = /^(?:NoSuch(?:Table|Namespace)|ObjectNotExists)(?:Exception)?$/

/** Whether an error says that the table does not exist, and not merely that the path leads nowhere. */
export function saysAbsent(type: string | undefined): boolean {
  return type !== undefined && ABSENT.test(type)
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
