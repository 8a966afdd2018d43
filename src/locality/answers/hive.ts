/** Decides the location and size of a table or partition of a Hive Metastore, or why it has no location. */
import { withoutTrailingSlashes } from '../../base/net/url-encoding.ts'
import { parseSize } from '../../base/quantity.ts'
import { dataLocation, hasOwnLocationProvider } from './iceberg.ts'
import { EXTERNAL_PATHS, hasExternalPaths } from './paimon.ts'

/** The fields of a table or partition that decide. */
export interface HiveStorage {
  location: string | undefined
  parameters: Readonly<Record<string, string>>
  /** The parameters of its serde. Their names have any case. */
  serdeParameters: Readonly<Record<string, string>>
  inputFormat?: string | undefined
  /** Only tables have one, such as `VIRTUAL_VIEW`. */
  tableType?: string | undefined
  /** Absent for a metastore before Hive 3, which has no catalogs. */
  catalog?: string | undefined
  /** The names in the answer; absent if the metastore sends none. */
  database?: string | undefined
  table?: string | undefined
  partitionKeys: number
}

/** The parameters that are read. Iceberg keeps the properties of its tables there as well. */
export const HIVE_PARAMETERS: ReadonlySet<string> = new Set([
  'totalSize',
  'table_type',
  'metadata_location',
  'iceberg.catalog',
  'storage_handler',
  '__IMPALA_DATA_SOURCE_NAME',
  'presto_view',
  'is_generic',
  'flink.connector',
  'flink.connector.type',
  'flink.path',
  'spark.sql.sources.provider',
  'spark.sql.partitionProvider',
  'spark.sql.statistics.totalSize',
  'projection.enabled',
  'storage.location.template',
  'data-file.external-paths',
  'data-file.external-paths.strategy',
  'write.data.path',
  'write.location-provider.impl',
  'write.object-storage.enabled',
  'write.object-storage.path',
  'write.folder-storage.path',
])

/** The wanted parameters of a serde: the path of a table of Spark, which reads the name without regard to case. */
export const SERDE_PARAMETERS = { has: (name: string) => name.toLowerCase() === 'path' }

export type HivePlace = { location: string; bytes?: number } | { unlocated: string }

/** Formats whose data is files below one path. Every other provider or connector may keep its data in another system. */
const FILE_FORMATS = new Set([
  ...['parquet', 'orc', 'avro', 'json', 'csv', 'text', 'xml', 'binaryfile', 'image', 'libsvm', 'filesystem'],
  ...['delta', 'hudi', 'iceberg', 'paimon', 'lance'],
])
/** Storage handlers whose data is files below the location of the table. */
const FILE_HANDLERS = /^(?:org\.apache\.iceberg\.|org\.apache\.paimon\.|io\.delta\.|org\.apache\.hudi\.)/

/**
 * Returns the location of the data and its size by the statistics, which Hive, Spark and Iceberg write. The location of the storage descriptor
 * is not that of the data for tables of storage handlers, Spark and Flink. Returns undefined if the metastore has no location at all.
 */
export function placeOfHive(storage: HiveStorage): HivePlace | undefined {
  const place = dataPlace(storage)
  if (typeof place === 'object') return place
  if (place === undefined || place === '') return undefined
  const bytes = hiveSize(storage, place)
  return bytes === undefined ? { location: place } : { location: place, bytes }
}

function dataPlace(storage: HiveStorage): string | { unlocated: string } | undefined {
  const { location, parameters } = storage
  if (isView(storage)) return { unlocated: 'is a view, which has no location; name the tables that it reads' }
  const source = parameters['__IMPALA_DATA_SOURCE_NAME']
  if (source !== undefined) return { unlocated: `has its data in the data source ${source} of Impala` }
  const catalog = otherCatalog(storage)
  if (catalog !== undefined) return { unlocated: `is in the Iceberg catalog ${catalog}, and not at its location` }
  const connector = flinkConnector(parameters)
  if (connector !== undefined) return ofFlink(connector, parameters['flink.path'])
  if (isIceberg(storage)) {
    if (hasOwnLocationProvider(parameters)) return { unlocated: 'has a location provider of its own' }
    const place = dataLocation({ properties: parameters, location })
    // A table of Delta may have metadata of Iceberg as well.
    if (place === undefined || !isPlaceholder(place)) return place
  }
  if (hasExternalPaths(parameters)) return { unlocated: EXTERNAL_PATHS }
  const handler = parameters['storage_handler'] ?? ''
  if (handler !== '' && !FILE_HANDLERS.test(handler)) {
    return { unlocated: `has its data in the system of the storage handler ${handler}` }
  }
  const provider = parameters['spark.sql.sources.provider'] ?? 'hive'
  if (provider.toLowerCase() !== 'hive') return ofSpark(provider, storage)
  if (storage.inputFormat?.endsWith('.SymlinkTextInputFormat')) {
    return { unlocated: 'has only a list of its files at its location' }
  }
  if (location !== undefined && isPlaceholder(location)) return ofSpark('parquet', storage)
  return isProjected(storage) ? ofProjection(storage) : location
}

/**
 * Values of `iceberg.catalog` with which the data is at the location: no catalog in Hive, and those of Impala, which sets the location
 * (fe/src/main/java/org/apache/impala/util/IcebergUtil.java).
 */
const NO_OTHER_CATALOG = new Set(['location_based_table', 'hadoop.tables', 'hadoop.catalog', 'hive.catalog'])

/**
 * The Iceberg catalog that has the metadata of a table. Hive finds such a table by its name there, so its location may be an empty folder
 * (Apache Iceberg, docs/docs/hive.md, "Custom catalog tables"). A table of the metastore itself has a `metadata_location`.
 */
function otherCatalog(storage: HiveStorage): string | undefined {
  const { metadata_location: ofMetastore, 'iceberg.catalog': catalog, storage_handler: handler } = storage.parameters
  const isOfIceberg = isIceberg(storage) || handler?.startsWith('org.apache.iceberg.')
  return isOfIceberg && !ofMetastore && catalog && !NO_OTHER_CATALOG.has(catalog.toLowerCase()) ? catalog : undefined
}

/** Whether engines compute the partitions of a table, such as Trino and Athena (partition projection). The metastore has none. */
function isProjected({ parameters }: HiveStorage): boolean {
  return parameters['projection.enabled']?.toLowerCase() === 'true'
}

/** The template of projected partitions names their locations. Without one, they are below the location of the table. */
function ofProjection({ location = '', parameters }: HiveStorage): string | { unlocated: string } {
  const template = parameters['storage.location.template']
  if (template === undefined || template.startsWith(`${withoutTrailingSlashes(location)}/`)) return location
  return { unlocated: 'has no data at its location: its partitions are at the property storage.location.template' }
}

/** Trino marks its views, and Iceberg has a type for them. A materialized view has its data at its location. */
function isView({ tableType, parameters }: HiveStorage): boolean {
  return (
    tableType === 'VIRTUAL_VIEW' ||
    parameters['presto_view'] === 'true' ||
    parameters['table_type']?.toLowerCase() === 'iceberg-view'
  )
}

function isIceberg({ parameters }: HiveStorage): boolean {
  return parameters['table_type']?.toLowerCase() === 'iceberg'
}

/** The connector of a table that is one of Flink and not of Hive (HiveCatalog: isHiveTable). */
function flinkConnector(parameters: HiveStorage['parameters']): string | undefined {
  const connector = parameters['flink.connector'] ?? parameters['flink.connector.type']
  const isOfFlink = parameters['is_generic']?.toLowerCase() ?? String(connector !== undefined)
  return isOfFlink === 'true' && connector?.toLowerCase() !== 'hive' ? (connector ?? 'that it names') : undefined
}

/** Flink keeps the options of its own tables in parameters. The location is a default folder without data. */
function ofFlink(connector: string, path: string | undefined): string | { unlocated: string } {
  const isFiles = FILE_FORMATS.has(connector.toLowerCase())
  if (isFiles && path !== undefined && path !== '') return path
  return { unlocated: `has its data in the system of the connector ${connector}` }
}

/**
 * Spark keeps the path of a table of its data sources in the parameters of the serde, since the location can only be a folder. For an external
 * table, the location is then a placeholder (HiveExternalCatalog: restoreDataSourceTable, saveTableIntoHive).
 */
function ofSpark(
  provider: string,
  { location, serdeParameters }: HiveStorage,
): string | { unlocated: string } | undefined {
  // A managed table of another provider, such as jdbc, has the path of an empty folder.
  const isFiles = provider
    .toLowerCase()
    .split('.')
    .some((part) => FILE_FORMATS.has(part))
  if (!isFiles) return { unlocated: `has its data in the system of the Spark provider ${provider}` }
  const path = Object.entries(serdeParameters).find(([name, value]) => name.toLowerCase() === 'path' && value !== '')
  if (path !== undefined) return path[1]
  if (location === undefined || !isPlaceholder(location)) return location
  return { unlocated: 'has a placeholder of Spark as its location, and no path' }
}

function isPlaceholder(location: string): boolean {
  return location.split('/').some((segment) => segment.endsWith('-__PLACEHOLDER__'))
}

/**
 * Returns why the files of the partitions of a table are not at their locations, after "it"; undefined if they are. Only the table has its
 * properties. A placeholder is a location of the table alone.
 */
export function whyPartitionsElsewhere(table: HiveStorage): string | undefined {
  const { location } = table
  const place = dataPlace(location !== undefined && isPlaceholder(location) ? { ...table, location: undefined } : table)
  return typeof place === 'object' ? place.unlocated : undefined
}

/**
 * Whether the metastore has the partitions of a table. Iceberg, Delta and tables of Spark without `partitionProvider` keep them elsewhere, so
 * a missing partition is no proof that the data does not exist.
 */
export function hasPartitions(storage: HiveStorage): boolean {
  const { partitionKeys, parameters } = storage
  if (partitionKeys === 0 || isIceberg(storage) || isProjected(storage)) return false
  if (whyPartitionsElsewhere(storage) !== undefined) return false
  const provider = parameters['spark.sql.sources.provider'] ?? 'hive'
  return provider.toLowerCase() === 'hive' || parameters['spark.sql.partitionProvider'] === 'catalog'
}

/** The size. Hive counts the bytes at the location, and those of a partitioned table at its partitions, with 0 at the table. */
function hiveSize(storage: HiveStorage, place: string): number | undefined {
  const { parameters, partitionKeys, location } = storage
  const bySpark = parameters['spark.sql.statistics.totalSize']
  const bytes = parseSize((place === location || isIceberg(storage) ? parameters['totalSize'] : undefined) ?? bySpark)
  return bytes !== undefined && (bytes > 0 || partitionKeys === 0) ? bytes : undefined
}
