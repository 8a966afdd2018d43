/**
 * The plugin `amoro`: locates tables of Amoro. It queries internal catalogs as Iceberg REST, and external catalogs with Amoro's own API. An
 * answer needs the location in the metadata of the table. Its size is optional.
 */
import { createHash } from 'node:crypto'
import type { Clock } from '../../base/time/clock.ts'
import { type NamedTable, saysExternalCatalog } from '../answers/absence-message.ts'
import { dataLocation } from '../answers/iceberg.ts'
import { errorType, icebergAbsence } from '../answers/iceberg-absence.ts'
import { members } from '../answers/members.ts'
import { EXTERNAL_PATHS, hasExternalPaths } from '../answers/paimon.ts'
import { pathSegment, splitName } from '../answers/table-name.ts'
import { needSecret } from '../auth/credentials.ts'
import type { SystemConfig, SystemDefinition } from '../config/config.ts'
import { type HttpClient, type HttpResponse, openHttpClient } from '../http/http.ts'
import { readJson, tryJson } from '../http/json.ts'
import { type LocalityAnswer, LocalityError, type LocalityPlugin, type LocalityQuery } from '../locality.ts'
import { readTable, refuseLocationProvider } from './iceberg-table.ts'

export const amoro: SystemDefinition = {
  endpoint: 'one',
  auth: ['none', 'basic', 'bearer', 'apikey'],
  extra: {},
  open: openAmoro,
}

/** How long a catalog counts as external before it is queried as an internal one again. A user may create it again as internal. */
const EXTERNAL_LIFE_MS = 600_000
const MAX_CATALOGS = 1000

interface TableName {
  catalog: string
  database: string
  table: string
  /** The unencoded names, as in a list of tables. */
  plain: NamedTable
}

type SendTo = (path: string, parameters: Readonly<Record<string, string>>, signal: AbortSignal) => Promise<HttpResponse>

function openAmoro(config: SystemConfig, clock: Clock): LocalityPlugin {
  const http = openHttpClient(config, clock)
  const base = config.endpoint.urls[0] ?? ''
  const external = new Map<string, number>()
  const sendTo: SendTo = async (path, parameters, signal) => {
    const url = `${base}/api/ams/v1/${path}?${new URLSearchParams(await signed(config, parameters))}`
    const response = await http.send({ method: 'GET', url }, signal)
    if (response.status !== 200) throw http.refusal(response)
    return response
  }

  async function locate(query: LocalityQuery, signal: AbortSignal): Promise<LocalityAnswer> {
    const name = parseName(query)
    if (clock.now() >= (external.get(name.catalog) ?? 0)) {
      const answer = await locateInternal(http, base, name, query, signal)
      if (answer !== undefined) return answer
      if (external.size >= MAX_CATALOGS) external.clear()
      external.set(name.catalog, clock.now() + EXTERNAL_LIFE_MS)
    }
    return locateExternal(sendTo, name, query, signal)
  }

  return {
    system: config.system,
    locate,
    health: async (signal) => {
      const response = await http.send({ method: 'GET', url: `${base}/api/ams/v1/health/status` }, signal)
      if (response.status !== 200) throw http.refusal(response)
      unwrap(response)
    },
    close: () => http.close(),
  }
}

/** Parses a name. As in volcano-global, any type is valid: Amoro has only tables, and the type belongs to the identity of the source. */
function parseName({ name }: LocalityQuery): TableName {
  const parts = splitName(name) ?? []
  const [catalog, ...rest] = parts.map(pathSegment)
  const table = rest.pop()
  if (catalog === undefined || table === undefined || rest.length === 0 || rest.includes(undefined)) {
    throw new LocalityError(
      'rejected',
      `${name}: must be catalog.database.table; parts with dots go into double quotes`,
    )
  }
  return {
    catalog,
    database: rest.join('%1F'),
    table,
    plain: { namespace: parts.at(-2) ?? '', table: parts.at(-1) ?? '' },
  }
}

/** Locates a table of an internal catalog; undefined when Amoro does not serve the catalog as Iceberg REST. */
async function locateInternal(
  http: HttpClient,
  base: string,
  { catalog, database, table, plain }: TableName,
  query: LocalityQuery,
  signal: AbortSignal,
): Promise<LocalityAnswer | undefined> {
  const path = `catalogs/${catalog}/namespaces/${database}/tables/${table}?snapshots=refs`
  const response = await http.exchange({ method: 'GET', url: `${base}/api/iceberg/rest/v1/${path}` }, signal)
  if (isOfExternalCatalog(response)) return undefined
  if (response.status !== 200) {
    const error = tryJson(response)
    const type = errorType(error)
    if (response.status === 404 && icebergAbsence(error, plain) === 'absent') {
      return { kind: 'nowhere', reason: `Amoro has no table ${query.name} (${type ?? 'HTTP 404'})` }
    }
    throw http.refusal(response, type)
  }
  const body = readJson(response)
  // Errors of Amoro have HTTP 200, and their code in the body.
  if (members(body)?.['code'] !== undefined) throw codeError(response, members(body)?.['code'])
  return { kind: 'located', ...readTable(response, query) }
}

/**
 * Whether the catalog of a query is external. Amoro up to 0.9 says so with HTTP 500, and later versions with 400. Neither status is enough: a
 * web server also answers 400 for some names, and all other queries of the catalog depend on this.
 */
function isOfExternalCatalog(response: HttpResponse): boolean {
  if (response.status !== 400 && response.status !== 500) return false
  const message = members(members(tryJson(response))?.['error'])?.['message']
  return typeof message === 'string' && saysExternalCatalog(message)
}

async function locateExternal(
  sendTo: SendTo,
  name: TableName,
  query: LocalityQuery,
  signal: AbortSignal,
): Promise<LocalityAnswer> {
  const { catalog, database, table, plain } = name
  const response = await sendTo(`tables/catalogs/${catalog}/dbs/${database}/tables/${table}/details`, {}, signal)
  const body = members(readJson(response))
  if (body?.['code'] !== 500) {
    const details = members(unwrap(response))
    const properties = members(details?.['properties'])
    refuseLocationProvider(query.name, properties)
    if (properties !== undefined && hasExternalPaths(properties)) {
      throw new LocalityError('rejected', `${query.name}: cannot be located: it ${EXTERNAL_PATHS}`)
    }
    const location = dataLocation({ properties, location: details?.['baseLocation'] })
    if (location !== undefined) return { kind: 'located', location }
    throw new LocalityError('invalidResponse', `${response.what}: the answer has no baseLocation`)
  }
  // Code 500 has many causes, such as a missing table. The list of tables distinguishes them.
  const listing = await sendTo(`catalogs/${catalog}/databases/${database}/tables`, { keywords: plain.table }, signal)
  const tables = unwrap(listing)
  if (!Array.isArray(tables)) throw new LocalityError('invalidResponse', `${listing.what}: the answer is not a list`)
  // Hive lists names in lower case, and accepts any.
  const asked = plain.table.toLowerCase()
  if (tables.some((one) => String(members(one)?.['name']).toLowerCase() === asked)) throw codeError(response, 500)
  return { kind: 'nowhere', reason: `Amoro lists no table ${query.name}` }
}

function unwrap(response: HttpResponse): unknown {
  const body = members(readJson(response))
  if (body?.['code'] === 200) return body['result']
  throw codeError(response, body?.['code'])
}

function codeError({ what }: HttpResponse, code: unknown): LocalityError {
  if (typeof code !== 'number') return new LocalityError('invalidResponse', `${what}: the answer has no code`)
  const meaning = code === 401 || code === 403 ? 'unauthorized' : code >= 500 ? 'serverError' : 'rejected'
  return new LocalityError(meaning, `${what}: HTTP 200 with code ${code} in the body`)
}

/**
 * Signs the parameters of Amoro's own API when the configuration has an API key with its secret. There always is a parameter: without one,
 * the signature would depend on the date in the time zone of the server.
 */
async function signed({ endpoint: { auth } }: SystemConfig, parameters: Readonly<Record<string, string>>) {
  const all = { ...parameters, client: 'lodestone' }
  if (auth.type !== 'apikey' || auth.secrets.secret === undefined) return all
  const apiKey = await needSecret(auth, 'apiKey')
  const secret = await needSecret(auth, 'secret')
  const sorted = Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1))
  const plain = `${apiKey}${sorted.flat().join('')}${secret}`
  return { ...all, apiKey, signature: createHash('md5').update(plain).digest('hex') }
}
