/** Tests the location and size of tables of a Hive Metastore. */
import { expect, test } from 'vitest'
import { defined } from '../../base/json.ts'
import { type HiveStorage, hasPartitions, placeOfHive, SERDE_PARAMETERS, whyPartitionsElsewhere } from './hive.ts'

const storage = (given: Partial<HiveStorage>): HiveStorage => ({
  location: 's3a://lake/orders',
  parameters: {},
  serdeParameters: {},
  partitionKeys: 0,
  ...given,
})

test.each([
  { name: 'without statistics', given: {}, want: { location: 's3a://lake/orders' } },
  {
    name: 'with statistics',
    given: { parameters: { totalSize: '4096' } },
    want: { location: 's3a://lake/orders', bytes: 4096 },
  },
  {
    name: 'that is empty',
    given: { parameters: { totalSize: '0' } },
    want: { location: 's3a://lake/orders', bytes: 0 },
  },
  {
    name: 'with partitions, whose sizes Hive counts',
    given: { parameters: { totalSize: '0' }, partitionKeys: 1 },
    want: { location: 's3a://lake/orders' },
  },
  {
    name: 'with partitions and a size',
    given: { parameters: { totalSize: '9' }, partitionKeys: 2 },
    want: { location: 's3a://lake/orders', bytes: 9 },
  },
  ...['-1', '1.5', '1e3', ' 7', '', 'many', '9007199254740992', '99999999999999999'].map((totalSize) => ({
    name: `with the invalid size "${totalSize}"`,
    given: { parameters: { totalSize } },
    want: { location: 's3a://lake/orders' },
  })),
  {
    name: 'of Iceberg, with its data elsewhere',
    given: { parameters: { table_type: 'ICEBERG', 'write.data.path': 's3://data/orders', totalSize: '7' } },
    want: { location: 's3://data/orders', bytes: 7 },
  },
  {
    name: 'of Iceberg, in its own folder',
    given: { parameters: { table_type: 'iceberg' } },
    want: { location: 's3a://lake/orders' },
  },
  {
    name: 'of Hive with a property of Iceberg',
    given: { parameters: { 'write.data.path': 's3://data/orders' } },
    want: { location: 's3a://lake/orders' },
  },
  { name: 'without a location', given: { location: undefined }, want: undefined },
  { name: 'with an empty location', given: { location: '' }, want: undefined },
])('a table $name', ({ given, want }) => {
  expect(placeOfHive(storage(given))).toEqual(want)
})

const HERE = 's3a://lake/orders'
const THERE = 's3a://lake-us/orders'
const PLACEHOLDER = 'hdfs://lake-eu/sales.db/orders-__PLACEHOLDER__'
const PAIMON = 'org.apache.paimon.hive.PaimonStorageHandler'
const ICEBERG = 'org.apache.iceberg.mr.hive.HiveIcebergStorageHandler'
const spark = (provider: string) => ({ 'spark.sql.sources.provider': provider })
const handler = (name: string) => ({ storage_handler: name })

test.each<{ name: string; given: Partial<HiveStorage>; want: string }>([
  { name: 'external, of Hive', given: { tableType: 'EXTERNAL_TABLE' }, want: HERE },
  { name: 'managed and transactional', given: { tableType: 'MANAGED_TABLE' }, want: HERE },
  { name: 'a materialized view', given: { tableType: 'MATERIALIZED_VIEW' }, want: HERE },
  { name: 'of Hive, with a path in its serde', given: { serdeParameters: { path: THERE } }, want: HERE },
  ...['parquet', 'ORC', 'DELTA', 'org.apache.spark.sql.json', 'org.apache.hudi', 'com.databricks.spark.csv'].map(
    (provider) => ({
      name: `of the Spark provider ${provider}`,
      given: { location: PLACEHOLDER, parameters: spark(provider), serdeParameters: { path: THERE } },
      want: THERE,
    }),
  ),
  {
    name: 'of Spark, with another case of the name',
    given: { parameters: spark('parquet'), serdeParameters: { PATH: THERE } },
    want: THERE,
  },
  {
    name: 'of Delta, with metadata of Iceberg',
    given: {
      location: PLACEHOLDER,
      parameters: { ...spark('delta'), table_type: 'ICEBERG' },
      serdeParameters: { path: THERE },
    },
    want: THERE,
  },
  { name: 'of Spark without a path', given: { parameters: spark('parquet') }, want: HERE },
  {
    name: 'of Hive, written by Spark',
    given: { parameters: spark('hive'), serdeParameters: { path: '' } },
    want: HERE,
  },
  {
    name: 'with a placeholder and no provider',
    given: { location: PLACEHOLDER, serdeParameters: { path: THERE } },
    want: THERE,
  },
  ...['org.apache.iceberg.mr.hive.HiveIcebergStorageHandler', 'io.delta.hive.DeltaStorageHandler', ''].map((name) => ({
    name: `with the storage handler "${name}"`,
    given: { parameters: handler(name) },
    want: HERE,
  })),
  ...['location_based_table', 'hadoop.tables', 'hadoop.catalog', 'hive.catalog'].map((catalog) => ({
    name: `of Iceberg that is not in another catalog: ${catalog}`,
    given: { parameters: { ...handler(ICEBERG), 'iceberg.catalog': catalog } },
    want: HERE,
  })),
  {
    name: 'of Iceberg in this metastore, which has a name',
    given: {
      parameters: { table_type: 'ICEBERG', 'iceberg.catalog': 'hive_prod', metadata_location: `${HERE}/m.json` },
    },
    want: HERE,
  },
  {
    name: 'of Flink with files',
    given: { parameters: { 'flink.connector': 'filesystem', 'flink.path': THERE } },
    want: THERE,
  },
  { name: 'of Hive, created by Flink', given: { parameters: { is_generic: 'false' } }, want: HERE },
  {
    name: 'with projected partitions below its location',
    given: {
      parameters: { 'projection.enabled': 'TRUE', 'storage.location.template': `${HERE}/day=\${day}/` },
      partitionKeys: 1,
    },
    want: HERE,
  },
  {
    name: 'with a template of partitions that are not projected',
    given: { parameters: { 'storage.location.template': `${THERE}/\${day}` } },
    want: HERE,
  },
  ...[{}, { 'data-file.external-paths.strategy': 'none' }].map((strategy) => ({
    name: `of Paimon, with external paths that it does not use: ${JSON.stringify(strategy)}`,
    given: { parameters: { ...handler(PAIMON), 'data-file.external-paths': THERE, ...strategy } },
    want: HERE,
  })),
  { name: 'of Hive, by its connector', given: { parameters: { 'flink.connector': 'hive' } }, want: HERE },
])('a table $name is at $want', ({ given, want }) => {
  expect(placeOfHive(storage(given))).toEqual({ location: want })
})

test.each<{ name: string; given: Partial<HiveStorage>; want: string }>([
  { name: 'a view', given: { tableType: 'VIRTUAL_VIEW' }, want: 'is a view' },
  { name: 'a view of Trino', given: { parameters: { presto_view: 'true' } }, want: 'is a view' },
  { name: 'a view of Iceberg', given: { parameters: { table_type: 'ICEBERG-VIEW' } }, want: 'is a view' },
  ...[
    'org.apache.hadoop.hive.hbase.HBaseStorageHandler',
    'org.apache.hadoop.hive.kudu.KuduStorageHandler',
    'org.apache.hive.storage.jdbc.JdbcStorageHandler',
    'org.apache.hadoop.hive.druid.DruidStorageHandler',
  ].map((name) => ({ name, given: { parameters: handler(name) }, want: `system of the storage handler ${name}` })),
  ...['jdbc', 'org.apache.spark.sql.jdbc', 'org.elasticsearch.spark.sql', 'kafka', 'mongodb'].map((provider) => ({
    name: `a table of the Spark provider ${provider}`,
    given: { parameters: spark(provider), serdeParameters: { path: THERE } },
    want: `system of the Spark provider ${provider}`,
  })),
  { name: 'a placeholder', given: { location: PLACEHOLDER }, want: 'has a placeholder of Spark' },
  { name: 'a partition of one', given: { location: `${PLACEHOLDER}/day=1` }, want: 'has a placeholder of Spark' },
  {
    name: 'a table of Spark with a placeholder',
    given: { location: PLACEHOLDER, parameters: spark('parquet') },
    want: 'has a placeholder of Spark',
  },
  { name: 'of Flink', given: { parameters: { 'flink.connector': 'kafka' } }, want: 'system of the connector kafka' },
  { name: 'of Flink without a path', given: { parameters: { 'flink.connector': 'hudi' } }, want: 'the connector hudi' },
  { name: 'of Flink 1.12', given: { parameters: { is_generic: 'TRUE' } }, want: 'the connector that it names' },
  {
    name: 'a table with projected partitions elsewhere',
    given: {
      parameters: { 'projection.enabled': 'true', 'storage.location.template': `${THERE}/\${day}/` },
      partitionKeys: 1,
    },
    want: 'its partitions are at the property storage.location.template',
  },
  {
    name: 'a table with projected partitions beside its location',
    given: { parameters: { 'projection.enabled': 'true', 'storage.location.template': `${HERE}-\${region}/` } },
    want: 'storage.location.template',
  },
  {
    name: 'a table of Paimon with external paths',
    given: {
      parameters: {
        ...handler(PAIMON),
        'data-file.external-paths': 'oss://lake-us/a,oss://lake-eu/b',
        'data-file.external-paths.strategy': 'round-robin',
      },
    },
    want: 'its files are at the property data-file.external-paths',
  },
  // Hive sets the type of a table of another catalog as well, and the location is that of a folder in the warehouse.
  ...[{ table_type: 'ICEBERG' }, handler(ICEBERG)].map((parameters) => ({
    name: `a table of Iceberg in another catalog, with ${JSON.stringify(parameters)}`,
    given: { parameters: { ...parameters, 'iceberg.catalog': 'hadoop_cat' } },
    want: 'is in the Iceberg catalog hadoop_cat',
  })),
  {
    name: 'a table of a data source of Impala',
    given: { parameters: { __IMPALA_DATA_SOURCE_NAME: 'jdbc_source' } },
    want: 'has its data in the data source jdbc_source of Impala',
  },
  {
    name: 'a table of links',
    given: { inputFormat: 'org.apache.hadoop.hive.ql.io.SymlinkTextInputFormat' },
    want: 'has only a list of its files',
  },
  {
    name: 'a table of Iceberg with its own class',
    given: { parameters: { table_type: 'ICEBERG', 'write.location-provider.impl': 'org.example.Provider' } },
    want: 'has a location provider of its own',
  },
])('$name has no location', ({ given, want }) => {
  expect(placeOfHive(storage(given))).toEqual({ unlocated: expect.stringContaining(want) })
})

test.each([
  { parameters: { totalSize: '0' }, want: undefined },
  { parameters: { totalSize: '0', 'spark.sql.statistics.totalSize': '7' }, want: 7 },
])('the size of a table that is not at its location is that of Spark: $want', ({ parameters, want }) => {
  const given = {
    location: PLACEHOLDER,
    parameters: { ...spark('orc'), ...parameters },
    serdeParameters: { path: THERE },
  }
  expect(placeOfHive(storage(given))).toEqual(defined({ location: THERE, bytes: want }))
})

test.each<{ name: string; given: Partial<HiveStorage>; want: boolean }>([
  { name: 'of Hive', given: { partitionKeys: 1 }, want: true },
  { name: 'without partitions', given: { partitionKeys: 0 }, want: false },
  { name: 'of Iceberg', given: { partitionKeys: 1, parameters: { table_type: 'ICEBERG' } }, want: false },
  { name: 'of Delta', given: { partitionKeys: 1, parameters: spark('delta') }, want: false },
  { name: 'of another system', given: { partitionKeys: 1, parameters: handler('x.KuduStorageHandler') }, want: false },
  {
    name: 'of another Iceberg catalog',
    given: { partitionKeys: 1, parameters: { ...handler(ICEBERG), 'iceberg.catalog': 'glue' } },
    want: false,
  },
  // Trino and Athena compute these partitions; the metastore has none.
  {
    name: 'with projected partitions',
    given: { partitionKeys: 1, parameters: { 'projection.enabled': 'true' } },
    want: false,
  },
  {
    name: 'of Spark, with a catalog of partitions',
    given: { partitionKeys: 1, parameters: { ...spark('parquet'), 'spark.sql.partitionProvider': 'catalog' } },
    want: true,
  },
])('the partitions of a table $name are in the metastore: $want', ({ given, want }) => {
  expect(hasPartitions(storage(given))).toBe(want)
})

test.each<{ name: string; given: Partial<HiveStorage>; want: string | undefined }>([
  { name: 'of Hive', given: {}, want: undefined },
  { name: 'of Spark', given: { parameters: spark('parquet'), serdeParameters: { path: THERE } }, want: undefined },
  { name: 'of Spark with a placeholder', given: { location: PLACEHOLDER, parameters: spark('orc') }, want: undefined },
  { name: 'of Paimon', given: { parameters: handler(PAIMON) }, want: undefined },
  {
    name: 'of Paimon with external paths',
    given: {
      parameters: {
        ...handler(PAIMON),
        'data-file.external-paths': THERE,
        'data-file.external-paths.strategy': 'specific-fs',
      },
    },
    want: 'its files are at the property data-file.external-paths',
  },
  {
    name: 'with projected partitions elsewhere',
    given: { parameters: { 'projection.enabled': 'true', 'storage.location.template': `${THERE}/\${day}/` } },
    want: 'storage.location.template',
  },
  { name: 'of another system', given: { parameters: handler('x.KuduStorageHandler') }, want: 'KuduStorageHandler' },
])('partitions of a table $name are at their locations unless it says: $want', ({ given, want }) => {
  const why = whyPartitionsElsewhere(storage(given))
  expect(why).toEqual(want === undefined ? undefined : expect.stringContaining(want))
})

test('of the parameters of a serde, only the path is read', () => {
  expect(['path', 'Path', 'paths', 'serialization.format'].filter((name) => SERDE_PARAMETERS.has(name))).toEqual([
    'path',
    'Path',
  ])
})
