/** Parses responses of an Iceberg REST catalog. It reads the location and size of a table, and ignores the credentials in the response. */
import { isPrintable } from './check.ts'
import { type Members, members } from './members.ts'

export interface TableInfo {
  location: string
  bytes?: number
}

/** The wanted snapshot; the current one if neither is set. */
export interface SnapshotChoice {
  ref?: string | undefined
  snapshotId?: string | undefined
}

/** The paths in the configuration of a catalog. */
export interface CatalogPaths {
  prefix: string | undefined
  /** Encoded for a URL. */
  separator: string | undefined
  /** Whether the catalog loads views. Only then it lists the request. */
  hasViews: boolean
}

const LOAD_VIEW = 'GET /v1/{prefix}/namespaces/{namespace}/views/{view}'

/** Parses a load-table response; undefined if it has no location. */
export function parseTable(body: unknown, choice: SnapshotChoice = {}): TableInfo | undefined {
  const metadata = members(members(body)?.['metadata'])
  if (metadata === undefined) return undefined
  const location = dataLocation(metadata) ?? text(members(body)?.['table-location'])
  if (location === undefined) return undefined
  const bytes = snapshotBytes(metadata, choice)
  return bytes === undefined ? { location } : { location, bytes }
}

/**
 * Data files may be outside of the table's location. The properties that move them are checked first, in the order in which writers use
 * them.
 */
export function dataLocation(metadata: Members): string | undefined {
  const properties = members(metadata['properties']) ?? {}
  const isObjectStorage = text(properties['write.object-storage.enabled'])?.toLowerCase() === 'true'
  const objectStorage = isObjectStorage ? text(properties['write.object-storage.path']) : undefined
  return (
    text(properties['write.data.path']) ??
    objectStorage ??
    text(properties['write.folder-storage.path']) ??
    text(metadata['location'])
  )
}

/** Whether a class of the user chooses the place of data files. Then no property of the table says where they are. */
export function hasOwnLocationProvider(properties: Members): boolean {
  return text(properties['write.location-provider.impl']) !== undefined
}

/** The branch of every table. Tables of format version 1 do not list it. */
const MAIN = 'main'

/** Whether a load-table response has this branch or tag. */
export function hasRef(body: unknown, ref: string): boolean {
  const refs = members(members(members(body)?.['metadata'])?.['refs'])
  return ref === MAIN || (refs !== undefined && Object.hasOwn(refs, ref))
}

/** Returns the size of the wanted snapshot; 0 for a table without snapshots, undefined if its writer did not record the size. */
function snapshotBytes(metadata: Members, { ref, snapshotId }: SnapshotChoice): number | undefined {
  const current = metadata['current-snapshot-id'] ?? -1
  // The JSON parser rounds ids above 2^53, but it rounds equal ids equally, so they still match.
  const refs = members(metadata['refs'])
  const named = ref === undefined ? undefined : members(refs?.[ref])?.['snapshot-id']
  const fromRef = ref === undefined || ref === MAIN ? (named ?? current) : named
  const id = snapshotId === undefined ? fromRef : Number(snapshotId)
  if (id === -1) return 0
  const snapshots = Array.isArray(metadata['snapshots']) ? metadata['snapshots'] : []
  const snapshot = snapshots.map(members).find((one) => one !== undefined && one['snapshot-id'] === id)
  const size = text(members(snapshot?.['summary'])?.['total-files-size'])
  const bytes = size === undefined ? Number.NaN : Number(size)
  return Number.isSafeInteger(bytes) && bytes >= 0 ? bytes : undefined
}

/**
 * Parses a catalog's configuration. `overrides` precede `configured`, our own settings, which precede `defaults`. Returns undefined for an invalid
 * configuration.
 */
export function parseCatalogConfig(
  body: unknown,
  configured: Partial<Omit<CatalogPaths, 'hasViews'>> = {},
): CatalogPaths | undefined {
  const defaults = members(members(body)?.['defaults'])
  const overrides = members(members(body)?.['overrides'])
  if (defaults === undefined && overrides === undefined) return undefined
  const prefix = text(overrides?.['prefix']) ?? configured.prefix ?? text(defaults?.['prefix'])
  const separator =
    text(overrides?.['namespace-separator']) ?? configured.separator ?? text(defaults?.['namespace-separator'])
  const endpoints = members(body)?.['endpoints']
  const hasViews = Array.isArray(endpoints) && endpoints.includes(LOAD_VIEW)
  return isPathText(prefix) && isPathText(separator) ? { prefix, separator, hasViews } : undefined
}

/** In characters. Both are part of every URL, and servers accept URLs of up to about 8 KiB. */
const MAX_PATH_TEXT = 1024

function isPathText(value: string | undefined): boolean {
  return value === undefined || (value.length <= MAX_PATH_TEXT && isPrintable(value))
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
