/**
 * The plugin `hive-metastore`: locates tables and partitions of a Hive Metastore, over Thrift. An answer needs the path of the data in the
 * metadata. Its size is optional.
 */
import type { Clock } from '../../base/time/clock.ts'
import { type HiveStorage, hasPartitions, placeOfHive, whyPartitionsElsewhere } from '../answers/hive.ts'
import { splitName } from '../answers/table-name.ts'
import { needSecret } from '../auth/credentials.ts'
import type { SystemConfig, SystemDefinition } from '../config/config.ts'
import { type LocalityAnswer, LocalityError, type LocalityPlugin, type LocalityQuery } from '../locality.ts'
import { openThriftClient } from '../thrift/client.ts'
import type { ThriftConnection } from '../thrift/connection.ts'
import { UNKNOWN_METHOD } from '../thrift/reply.ts'
import {
  getCatalog,
  getDatabase,
  getPartition,
  getTable,
  getTableRequest,
  type HiveCall,
  type HiveName,
  setUser,
} from './hive-messages.ts'

export const hiveMetastore: SystemDefinition = {
  endpoint: 'several',
  protocol: 'thrift',
  auth: ['none', 'simple', 'basic'],
  extra: {
    /** The catalog of names with two parts. Default: that of the metastore. */
    catalog: { type: 'string', minLength: 1 },
    /** Whether the metastore has `metastore.thrift.framed.transport.enabled`. SASL always uses frames. */
    framed: { type: 'boolean' },
  },
  open: openHiveMetastore,
}

function openHiveMetastore(config: SystemConfig, clock: Clock): LocalityPlugin {
  const { endpoint, extra, system } = config
  const client = openThriftClient(config, clock)

  async function find(
    call: HiveCall,
    older: HiveCall | undefined,
    signal: AbortSignal,
  ): Promise<HiveStorage | undefined> {
    return client.query(call.method, signal, async (connection) => {
      // With SASL, the metastore knows the user already.
      if (endpoint.auth.type === 'simple') await ask(connection, setUser(await needSecret(endpoint.auth, 'username')))
      return ask(connection, call, older)
    })
  }

  const findTable = (name: HiveName, signal: AbortSignal) => find(getTableRequest(name), getTable(name), signal)

  /** Throws unless a missing object proves that the data does not exist: the metastore must know catalogs, and have the partitions. */
  async function proveAbsence(name: HiveName, query: LocalityQuery, signal: AbortSignal): Promise<void> {
    if (name.catalog !== undefined) await find(getCatalog(name.catalog), undefined, signal)
    if (query.attributes['partition'] === undefined) return
    const table = await findTable(name, signal)
    if (table === undefined || hasPartitions(table)) return
    const remedy = 'remove the attribute partition of the claim'
    throw new LocalityError('rejected', `${query.name}: has no partitions in the metastore; ${remedy}`)
  }

  return {
    system,
    locate: async (query, signal) => {
      const name = parseName(query, extra['catalog'] as string | undefined)
      const { partition } = query.attributes
      const storage =
        partition === undefined
          ? await findTable(name, signal)
          : await find(getPartition(name, partition), undefined, signal)
      if (storage !== undefined) {
        const table = partition === undefined ? undefined : await findTable(name, signal)
        const elsewhere = table && whyPartitionsElsewhere(table)
        if (elsewhere !== undefined) throw unlocated(query, elsewhere)
        return located(query, name, storage)
      }
      await proveAbsence(name, query, signal)
      const what = partition === undefined ? '' : `, or no partition ${partition} of it`
      return { kind: 'nowhere', reason: `the metastore has no table ${query.name}${what} (NoSuchObjectException)` }
    },
    health: async (signal) => {
      // A missing database is a healthy answer as well.
      await find(getDatabase('default'), undefined, signal)
    },
    close: () => client.close(),
  }
}

/** Parses `database.table` or `catalog.database.table`. */
function parseName({ type, name }: LocalityQuery, catalog: string | undefined): HiveName {
  if (type !== 'table') throw new LocalityError('rejected', `unknown type ${type}; use table`)
  const parts = splitName(name) ?? []
  const [table, database, own, ...rest] = parts.toReversed()
  if (table === undefined || database === undefined || rest.length > 0) {
    throw new LocalityError('rejected', `${name}: must be database.table or catalog.database.table`)
  }
  return { catalog: own ?? catalog, database, table }
}

/** The catalog of a metastore that has no other one. */
const DEFAULT_CATALOG = 'hive'

function located({ name }: LocalityQuery, asked: HiveName, storage: HiveStorage): LocalityAnswer {
  const { catalog } = asked
  // The metastore stores names in lower case.
  for (const part of ['database', 'table'] as const) {
    const answered = storage[part] ?? asked[part]
    if (answered.toLowerCase() !== asked[part].toLowerCase())
      throw new LocalityError('invalidResponse', `${name}: the answer is about the ${part} ${answered}`)
  }
  // A metastore before Hive 3 ignores the catalog of a query, and sends none.
  const its = (storage.catalog ?? DEFAULT_CATALOG).toLowerCase()
  if (catalog !== undefined && catalog.toLowerCase() !== its) {
    const remedy = 'name a catalog that the metastore has, or database.table'
    throw new LocalityError('rejected', `${name}: the answer is a table of the catalog ${its}; ${remedy}`)
  }
  const place = placeOfHive(storage)
  if (place === undefined) throw new LocalityError('invalidResponse', `${name}: the answer has no location`)
  if ('location' in place) return { kind: 'located', ...place }
  throw unlocated({ name }, place.unlocated)
}

function unlocated({ name }: Pick<LocalityQuery, 'name'>, why: string): LocalityError {
  return new LocalityError('rejected', `${name}: cannot be located: it ${why}`)
}

/**
 * Sends a call, and its older form if the metastore does not know it. Returns undefined if the metastore has no such object. Throws a
 * `LocalityError` for every other exception.
 */
async function ask(connection: ThriftConnection, call: HiveCall, older?: HiveCall): Promise<HiveStorage | undefined> {
  const reply = await connection.call(call.method, call.fields, call.read)
  if (reply.kind === 'exception') {
    const isUnknown = reply.type === UNKNOWN_METHOD
    if (isUnknown && older !== undefined) return ask(connection, older)
    if (isUnknown) {
      const meaning = call.unknown ?? 'it is no metastore'
      throw new LocalityError('rejected', `the server has no method ${call.method}; ${meaning}`)
    }
    throw failure('TApplicationException')
  }
  const { result } = reply
  if (result.kind === 'found') return result.storage
  if (result.kind === 'absent') return undefined
  if (result.kind === 'failed') throw failure('MetaException')
  throw new LocalityError('invalidResponse', 'the answer has no result')
}

/** The error for an exception without a code. It may concern this query only, such as a missing permission, so other queries continue. */
function failure(exception: string): LocalityError {
  return new LocalityError('invalidResponse', `${exception}; the log of the metastore has the reason`)
}
