/**
 * The plugin `iceberg-rest`: locates tables of an Iceberg REST catalog. An answer needs the configuration of the catalog, and the location in
 * the metadata of the table. Its size is optional.
 */
import { defined, without } from '../../base/json.ts'
import { decodeEscapes } from '../../base/net/url-encoding.ts'
import type { Clock } from '../../base/time/clock.ts'
import type { NamedTable } from '../answers/absence-message.ts'
import { type CatalogPaths, parseCatalogConfig } from '../answers/iceberg.ts'
import { errorType, icebergAbsence, mayHideTable } from '../answers/iceberg-absence.ts'
import { members } from '../answers/members.ts'
import { pathSegment, splitName } from '../answers/table-name.ts'
import type { SystemConfig, SystemDefinition } from '../config/config.ts'
import { text } from '../config/schema.ts'
import { type HttpClient, type HttpResponse, openHttpClient } from '../http/http.ts'
import { readJson, tryJson } from '../http/json.ts'
import {
  type LocalityAnswer,
  LocalityError,
  type LocalityPlugin,
  type LocalityQuery,
  type LocatedAnswer,
  optional,
} from '../locality.ts'
import { readTable } from './iceberg-table.ts'

export const icebergRest: SystemDefinition = {
  endpoint: 'one',
  auth: ['none', 'basic', 'bearer', 'apikey', 'oauth2', 'sigv4'],
  extra: { warehouse: text, prefix: text, namespaceSeparator: text },
  open: openIcebergRest,
}

/** How long the paths of a catalog are cached. A changed prefix takes effect soon, and most queries need no request for it. */
const PATHS_LIFE_MS = 300_000
/** The most cached warehouses, because claims may name any warehouse. */
const MAX_WAREHOUSES = 1000

function openIcebergRest(config: SystemConfig, clock: Clock): LocalityPlugin {
  const http = openHttpClient(config, clock)
  const base = config.endpoint.urls[0] ?? ''
  const { warehouse, prefix, namespaceSeparator: separator } = config.extra as Record<string, string | undefined>
  const configured = { prefix, separator }
  const known = new Map<string | undefined, { paths: CatalogPaths; until: number }>()

  async function catalogPaths(named: string | undefined, signal: AbortSignal): Promise<CatalogPaths> {
    const kept = known.get(named)
    if (kept !== undefined && clock.now() < kept.until) return kept.paths
    const paths = await loadPaths(http, base, named, configured, signal)
    if (known.size >= MAX_WAREHOUSES) known.clear()
    known.set(named, { paths, until: clock.now() + PATHS_LIFE_MS })
    return paths
  }

  return {
    system: config.system,
    locate: async (query, signal) => {
      const name = parseName(query)
      const named = query.attributes['warehouse'] ?? warehouse
      const paths = await catalogPaths(named, signal)
      refuseSeparator(query.name, paths.separator, name.namespace)
      const { namespaces, namespace, table, view } = pathsOfTable(paths, name)
      const headers = query.etag === undefined ? {} : { 'if-none-match': query.etag }
      const get = (path: string) => http.send({ method: 'GET', url: `${base}/v1${path}`, headers: {} }, signal)
      const url = `${base}/v1${table}?snapshots=refs`
      const response = await http.send({ method: 'GET', url, headers }, signal)
      if (response.status !== 404) {
        const answer = readAnswer(response, query, http)
        return isUnmeasured(answer, query) ? measure(answer, query, get(`${table}?snapshots=all`), http) : answer
      }
      // The catalog may have changed its prefix, so the next query reads it again.
      known.delete(named)
      const missing = { named: name.plain, paths: { namespaces, namespace, view }, get }
      return answerMissing(response, query, missing, http)
    },
    health: async (signal) => {
      await loadPaths(http, base, warehouse, configured, signal)
    },
    close: () => http.close(),
  }
}

async function loadPaths(
  http: HttpClient,
  base: string,
  warehouse: string | undefined,
  configured: Omit<CatalogPaths, 'hasViews'>,
  signal: AbortSignal,
): Promise<CatalogPaths> {
  const query = warehouse === undefined ? '' : `?warehouse=${encodeURIComponent(warehouse)}`
  const response = await http.exchange({ method: 'GET', url: `${base}/v1/config${query}` }, signal)
  if (response.status !== 200) {
    const details = [warehouse && `warehouse ${warehouse}`, errorType(tryJson(response))].filter(Boolean)
    throw http.refusal(response, details.join(', ') || undefined)
  }
  const paths = parseCatalogConfig(readJson(response), configured)
  if (paths === undefined)
    throw new LocalityError('invalidResponse', `${response.what}: the answer is not a catalog's configuration`)
  return paths
}

interface TableName {
  /** The parts of the namespace, encoded for a URL. */
  namespace: readonly string[]
  /** Encoded for a URL. */
  table: string
  /** The unencoded names. */
  plain: NamedTable
}

function parseName({ type, name }: LocalityQuery): TableName {
  if (type !== 'table') {
    throw new LocalityError('rejected', `unknown type ${type}; use table`)
  }
  const parts = splitName(name) ?? []
  const encoded = parts.map(pathSegment).filter((part) => part !== undefined)
  const table = encoded.pop()
  if (table === undefined || encoded.length === 0 || encoded.length < parts.length - 1)
    throw new LocalityError('rejected', `${name}: must be namespace.table; parts with dots go into double quotes`)
  const plain = { namespace: parts.at(-2) ?? '', table: parts.at(-1) ?? '' }
  return { namespace: encoded, table, plain }
}

const DEFAULT_SEPARATOR = '%1F'

/** Throws if a part of a namespace has the separator: its path would be that of another namespace. */
function refuseSeparator(name: string, separator = DEFAULT_SEPARATOR, parts: readonly string[]): void {
  const plain = decoded(separator)
  if (!parts.some((part) => decoded(part).includes(plain))) return
  const reason = `a part of its namespace has "${plain}", the separator of the catalog; write nested namespaces without quotes`
  throw new LocalityError('rejected', `${name}: ${reason}`)
}

/** Decodes a text of a URL; an invalid text is unchanged. */
function decoded(text: string): string {
  return decodeEscapes(text) ?? text
}

/** The paths of the requests about a table. None asks for credentials to its files. */
function pathsOfTable({ prefix, separator, hasViews }: CatalogPaths, { namespace: parts, table }: TableName) {
  const namespaces = `${prefixPath(prefix)}/namespaces`
  const namespace = `${namespaces}/${parts.join(separator === undefined ? DEFAULT_SEPARATOR : urlText(separator))}`
  const view = hasViews ? `${namespace}/views/${table}` : undefined
  return { namespaces, namespace, table: `${namespace}/tables/${table}`, view }
}

/**
 * Returns the path of a prefix, which may have several segments and is URL-encoded already. It encodes invalid characters and rejects dot
 * segments.
 */
function prefixPath(prefix: string | undefined): string {
  if (prefix === undefined) return ''
  const segments = prefix.split('/').filter((segment) => segment !== '')
  if (segments.some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment))) {
    throw new LocalityError('invalidResponse', 'the prefix of the catalog has a segment "." or ".."')
  }
  return segments.map((segment) => `/${urlText(segment)}`).join('')
}

function urlText(text: string): string {
  return text.replace(/%(?![0-9A-Fa-f]{2})|[^A-Za-z0-9\-._~!$&'()*+,;=:@%]/gu, encodeURIComponent)
}

function readAnswer(response: HttpResponse, query: LocalityQuery, http: HttpClient): LocalityAnswer {
  const { status, headers, what } = response
  if (status === 304 && query.etag !== undefined) return { kind: 'unchanged' }
  if (status !== 200) throw http.refusal(response, errorType(tryJson(response)))
  const body = readJson(response)
  if (members(body)?.['error'] !== undefined) {
    throw new LocalityError('invalidResponse', `${what}: HTTP 200 with an error in the body`)
  }
  const etag = headers['etag']
  return { kind: 'located', ...readTable(response, query), ...defined({ etag }) }
}

/** Whether an answer lacks the size of a snapshot. A table may have thousands of them, so the first request is for those with a branch or tag. */
function isUnmeasured(answer: LocalityAnswer, { attributes }: LocalityQuery): answer is LocatedAnswer {
  return answer.kind === 'located' && answer.bytes === undefined && attributes['snapshot-id'] !== undefined
}

/**
 * Adds the size of the snapshot of a query, if the response with all snapshots has it. Without that response, the answer has no ETag: the next
 * query would be answered with "unchanged", and never measure.
 */
async function measure(
  answer: LocatedAnswer,
  query: LocalityQuery,
  all: Promise<HttpResponse>,
  http: HttpClient,
): Promise<LocalityAnswer> {
  const found = await optional(all.then((response) => readAnswer(response, query, http)))
  if (found?.kind === 'located') return { ...answer, ...defined({ bytes: found.bytes }) }
  return without(answer, 'etag')
}

/** The answer to a 404. Throws unless the catalog proves that the data does not exist. */
async function answerMissing(
  response: HttpResponse,
  { name }: LocalityQuery,
  missing: MissingTable,
  http: HttpClient,
): Promise<LocalityAnswer> {
  const body = tryJson(response)
  const type = errorType(body)
  if (!(await isAbsent(response, missing))) {
    const detail = type ?? 'no proof that this is the catalog'
    throw http.refusal(response, mayHideTable(body) ? `${detail}; the user may lack the right to see it` : detail)
  }
  if (!(await isView(missing)))
    return { kind: 'nowhere', reason: `the catalog has no table ${name} (${type ?? 'HTTP 404'})` }
  const remedy = 'name the tables that it reads'
  throw new LocalityError('rejected', `${name}: cannot be located: it is a view, which has no location; ${remedy}`)
}

interface MissingTable {
  named: NamedTable
  /** The paths of the namespaces, of the one of the table, and of a view with its name, if the catalog has views. */
  paths: { namespaces: string; namespace: string; view: string | undefined }
  get(path: string): Promise<HttpResponse>
}

/**
 * Whether the catalog proves that a table does not exist. Either its error says so, or the path is right: the catalog has the namespace, or
 * lists namespaces. Throws if one of these requests fails.
 */
async function isAbsent(response: HttpResponse, { named, paths, get }: MissingTable): Promise<boolean> {
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
async function isView({ paths: { view }, get }: MissingTable): Promise<boolean> {
  const response = view === undefined ? undefined : await optional(get(view))
  return response?.status === 200 && members(members(tryJson(response))?.['metadata']) !== undefined
}
