/** Tests the location and size of tables of a Hive Metastore. */
import { expect, test } from 'vitest'
import { type HiveStorage, isHiveView, locationOfHive } from './hive.ts'

const storage = (given: Partial<HiveStorage>): HiveStorage => ({
  location: 's3a://lake/orders',
  parameters: {},
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
  expect(locationOfHive(storage(given))).toEqual(want)
})

test.each([
  { tableType: 'VIRTUAL_VIEW', want: true },
  { tableType: 'MATERIALIZED_VIEW', want: false },
  { tableType: 'EXTERNAL_TABLE', want: false },
  { tableType: undefined, want: false },
])('$tableType is a view without data: $want', ({ tableType, want }) => {
  expect(isHiveView(storage({ tableType }))).toBe(want)
})
