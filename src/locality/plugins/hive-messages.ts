/** The calls of the Hive Metastore that the plugin uses: their arguments, and the fields of their results that it reads. */
import { HIVE_PARAMETERS, type HiveStorage, SERDE_PARAMETERS } from '../answers/hive.ts'
import type { ByteQueue } from '../thrift/byte-queue.ts'
import {
  type Decoding,
  type FieldDecoder,
  readListSize,
  readStruct,
  readText,
  readTexts,
  skip,
} from '../thrift/decode.ts'
import type { ThriftFields } from '../thrift/encode.ts'
import { TYPES } from '../thrift/protocol.ts'

/** A result of the interface. `failed` is a MetaException, with which the metastore reports all of its failures. */
export type HiveResult =
  | { kind: 'found'; storage: HiveStorage }
  /** A NoSuchObjectException. */
  | { kind: 'absent' }
  | { kind: 'failed' }
  /** A result without any field. */
  | { kind: 'empty' }

export interface HiveCall {
  method: string
  fields: ThriftFields
  /** The meaning of a metastore without this method. */
  unknown?: string
  read(input: ByteQueue): Decoding<HiveResult>
}

export interface HiveName {
  catalog: string | undefined
  database: string
  table: string
}

/** Every client can read insert-only tables, of which only the location matters. Otherwise the metastore rejects queries for them. */
const INSERT_ONLY_TABLES = 2
/** In bytes: 4096 characters. */
const MAX_LOCATION_BYTES = 16 * 1024
const MAX_TYPE_BYTES = 256
/** A longer name is ignored. Hive allows 256 characters. */
const MAX_NAME_BYTES = 1024

/** Hive 2.3 and newer. */
export function getTableRequest({ catalog, database, table }: HiveName): HiveCall {
  const request: ThriftFields = {
    1: { text: database },
    2: { text: table },
    3: { struct: { 1: { int32s: [INSERT_ONLY_TABLES] } } },
    4: catalog === undefined ? undefined : { text: catalog },
  }
  // The result has the table in its field 1.
  const read = resultReader((storage) => struct({ 1: struct(tableFields(storage)) }), { failed: 1, absent: 2 })
  return { method: 'get_table_req', fields: { 1: { struct: request } }, read }
}

/** Hive before 2.3. */
export function getTable(name: HiveName): HiveCall {
  const read = resultReader((storage) => struct(tableFields(storage)), { failed: 1, absent: 2 })
  return { method: 'get_table', fields: { 1: { text: databaseName(name) }, 2: { text: name.table } }, read }
}

export function getPartition(name: HiveName, partition: string): HiveCall {
  const fields = { 1: { text: databaseName(name) }, 2: { text: name.table }, 3: { text: partition } }
  const read = resultReader((storage) => struct(partitionFields(storage)), { failed: 1, absent: 2 })
  return { method: 'get_partition_by_name', fields, read }
}

/** The cheapest query that needs the database behind the metastore. */
export function getDatabase(database: string): HiveCall {
  const read = resultReader(() => struct({}), { failed: 2, absent: 1 })
  return { method: 'get_database', fields: { 1: { text: database } }, read }
}

/** Hive 3 and newer: whether a catalog exists. An older metastore has no catalogs, and ignores them in other calls. */
export function getCatalog(catalog: string): HiveCall {
  const read = resultReader(() => struct({}), { failed: 2, absent: 1 })
  const unknown = 'the metastore has no catalogs; name database.table'
  return { method: 'get_catalog', fields: { 1: { struct: { 1: { text: catalog } } } }, unknown, read }
}

/** Tells the metastore for which user the next calls of the connection are. */
export function setUser(username: string): HiveCall {
  const read = resultReader(() => ({ type: TYPES.list, read: ignoreList }), { failed: 1 })
  return { method: 'set_ugi', fields: { 1: { text: username }, 2: { texts: [] } }, read }
}

/** In calls without a field for the catalog, it is a part of the name of the database. */
function databaseName({ catalog, database }: HiveName): string {
  return catalog === undefined ? database : `@${catalog}#${database}`
}

type Storage = { -readonly [Key in keyof HiveStorage]: HiveStorage[Key] }

/** Reads the result of a call: the value in field 0, or an exception in one of the numbered fields. */
function resultReader(
  valueIn: (storage: Storage) => FieldDecoder,
  { failed, absent }: { failed: number; absent?: number },
): HiveCall['read'] {
  return function* (input) {
    const storage: Storage = { location: undefined, parameters: {}, serdeParameters: {}, partitionKeys: 0 }
    const value = valueIn(storage)
    let result: HiveResult = { kind: 'empty' }
    const found: FieldDecoder = {
      type: value.type,
      *read(field) {
        yield* value.read(field)
        result = { kind: 'found', storage }
      },
    }
    const exception = (kind: 'failed' | 'absent'): FieldDecoder => ({
      type: TYPES.struct,
      *read(field) {
        yield* skip(field, TYPES.struct)
        result = { kind }
      },
    })
    yield* readStruct(input, {
      0: found,
      [failed]: exception('failed'),
      ...(absent === undefined ? {} : { [absent]: exception('absent') }),
    })
    return result
  }
}

function tableFields(storage: Storage): Record<number, FieldDecoder> {
  return {
    1: name(storage, 'table'),
    2: name(storage, 'database'),
    7: storageDescriptor(storage),
    8: {
      type: TYPES.list,
      *read(input) {
        storage.partitionKeys = yield* readListSize(input)
      },
    },
    9: parameters(storage),
    12: text(MAX_TYPE_BYTES, (value) => {
      storage.tableType = value
    }),
    17: name(storage, 'catalog'),
  }
}

function partitionFields(storage: Storage): Record<number, FieldDecoder> {
  return {
    2: name(storage, 'database'),
    3: name(storage, 'table'),
    6: storageDescriptor(storage),
    7: parameters(storage),
    9: name(storage, 'catalog'),
  }
}

function name(storage: Storage, part: 'catalog' | 'database' | 'table'): FieldDecoder {
  return text(MAX_NAME_BYTES, (value) => {
    storage[part] = value
  })
}

function storageDescriptor(storage: Storage): FieldDecoder {
  return struct({
    2: text(MAX_LOCATION_BYTES, (value) => {
      storage.location = value
    }),
    3: text(MAX_TYPE_BYTES, (value) => {
      storage.inputFormat = value
    }),
    7: struct({
      3: {
        type: TYPES.map,
        *read(input) {
          storage.serdeParameters = yield* readTexts(input, SERDE_PARAMETERS, MAX_LOCATION_BYTES)
        },
      },
    }),
  })
}

function parameters(storage: Storage): FieldDecoder {
  return {
    type: TYPES.map,
    *read(input) {
      storage.parameters = yield* readTexts(input, HIVE_PARAMETERS, MAX_LOCATION_BYTES)
    },
  }
}

function struct(fields: Readonly<Record<number, FieldDecoder>>): FieldDecoder {
  return { type: TYPES.struct, read: (input) => readStruct(input, fields) }
}

function text(maxBytes: number, keep: (value: string | undefined) => void): FieldDecoder {
  return {
    type: TYPES.text,
    *read(input) {
      keep(yield* readText(input, maxBytes))
    },
  }
}

function* ignoreList(input: ByteQueue): Decoding<void> {
  yield* readListSize(input)
}
