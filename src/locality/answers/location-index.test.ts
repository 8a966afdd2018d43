/** Tests look-ups of locations in mappings: by whole segments, and by plain prefix as in volcano-global. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { indexLocations, type LocationMapping, unmatchedKeys } from './location-index.ts'

function clustersOf(location: string, mapping: LocationMapping): readonly string[] | undefined {
  return indexLocations(mapping, 'segments').find(location)?.clusters
}

describe('I: which entry covers a location, by whole segments', () => {
  const mapping = {
    's3://wh-dc1': ['dc1'],
    's3://wh-dc10/': ['dc10'],
    's3://wh-dc1/hot/': ['hot', 'dc1', 'hot'],
    's3://wh-dc1/hot/eu': ['eu'],
    'gs://Bucket-A': ['gcp'],
    'abfss://data@acct.dfs.core.windows.net/raw': ['azure'],
    'hdfs://ns1/warehouse': ['hadoop'],
    'hdfs://nn:8020/': ['eight'],
    'hdfs://nn/': ['any'],
    'hdfs://nn2:8020/': ['second'],
    'oss://lake': ['beijing'],
    'file:/mnt/data': ['local'],
  }
  test.each([
    { location: 's3a://wh-dc10/x', want: ['dc10'] },
    { location: 's3a://wh-dc1/x', want: ['dc1'] },
    { location: 's3n://wh-dc1', want: ['dc1'] },
    { location: 's3://wh-dc1/', want: ['dc1'] },
    { location: 'S3://WH-DC1/x', want: ['dc1'] },
    { location: 's3://wh-dc1/hot', want: ['dc1', 'hot'] },
    { location: 's3://wh-dc1//hot///x/', want: ['dc1', 'hot'] },
    { location: 's3://wh-dc1/hotter', want: ['dc1'] },
    { location: 's3://wh-dc1/hot/eu/t', want: ['eu'] },
    { location: 's3://wh-dc1/hot/europe', want: ['dc1', 'hot'] },
    { location: 's3://wh-dc1/HOT/x', want: ['dc1'] },
    { location: 's3://wh-dc1?region=eu-west-1', want: ['dc1'] },
    { location: 's3://wh-dc', want: undefined },
    { location: 'gs://wh-dc1/x', want: undefined },
    { location: 'GS://BUCKET-A/x', want: ['gcp'] },
    { location: 'wasbs://data@acct.blob.core.windows.net/raw/x', want: ['azure'] },
    { location: 'abfs://other@acct.dfs.core.windows.net/raw/x', want: undefined },
    { location: 'webhdfs://ns1:9870/warehouse/db', want: ['hadoop'] },
    { location: 'viewfs://ns1/other', want: undefined },
    // The paths of viewfs are those of its mount table, which may lead to any file system.
    { location: 'viewfs://ns1/warehouse/db', want: undefined },
    { location: 'wasbs://data@acct.blob.core.windows.net:443/raw/x', want: ['azure'] },
    { location: 'hdfs://nn:8020/x', want: ['eight'] },
    { location: 'hdfs://nn:9000/x', want: ['any'] },
    // Without a port, hdfs has the default one of a NameNode.
    { location: 'hdfs://nn2/x', want: ['second'] },
    { location: 'webhdfs://nn2/x', want: undefined },
    { location: 'hdfs://nn/x', want: ['any'] },
    // EMR of Alibaba writes the endpoint behind the bucket.
    { location: 'oss://lake.oss-cn-beijing-internal.aliyuncs.com/x', want: ['beijing'] },
    { location: 'oss://lake.cn-beijing.oss-dls.aliyuncs.com/x', want: ['beijing'] },
    { location: 'oss://lake-2.oss-cn-beijing.aliyuncs.com/x', want: undefined },
    // Hadoop resolves these segments.
    { location: 's3a://wh-dc1/hot/../x', want: ['dc1'] },
    { location: 'hdfs://ns1/tmp/./../warehouse/db', want: ['hadoop'] },
    { location: 'hdfs://ns1/../../warehouse', want: ['hadoop'] },
    { location: 'file:///mnt/data/x', want: ['local'] },
    { location: 'not a location', want: undefined },
  ])('$location: $want', ({ location, want }) => {
    expect(clustersOf(location, mapping)).toEqual(want)
  })
})

test('equivalent entries are combined, unless one has the scheme of the location', () => {
  const mapping = { 's3://wh/': ['a'], 's3a://wh': ['b'], 's3://wh': ['c'] }
  expect(clustersOf('s3n://wh/x', mapping)).toEqual(['a', 'b', 'c'])
  expect(clustersOf('s3a://wh/x', mapping)).toEqual(['b'])
  expect(clustersOf('s3://wh/x', Object.fromEntries(Object.entries(mapping).reverse()))).toEqual(['a', 'c'])
})

test('an entry without clusters means no cluster', () => {
  const mapping = { 's3://wh/x': [], 's3://wh': ['a'] }
  expect(clustersOf('s3://wh/x', mapping)).toEqual([])
  expect(indexLocations(mapping, 'prefix').find('s3://wh/x')).toEqual({ keys: ['s3://wh/x'], clusters: [] })
})

/** The reference: the code of volcano-global, pkg/controller/datadependency/plugins/amoro/amoro.go, mapLocationToClusters. */
function mapLocationToClusters(location: string, mapping: LocationMapping): readonly string[] | undefined {
  let longest = ''
  let matched: readonly string[] | undefined
  for (const [prefix, clusters] of Object.entries(mapping)) {
    if (location.startsWith(prefix) && prefix.length > longest.length) {
      longest = prefix
      matched = clusters
    }
  }
  return matched
}

describe('a file of volcano-global keeps its meaning', () => {
  test.each<{ mapping: LocationMapping; location: string; want: string[] | undefined }>([
    { mapping: { 's3://warehouse-': ['a'] }, location: 's3://warehouse-dc1/x', want: ['a'] },
    { mapping: { 's3://wh/prod_': ['a'] }, location: 's3://wh/prod_eu/x', want: ['a'] },
    { mapping: { 's3://wh/prod': ['a'] }, location: 's3://wh/production/x', want: ['a'] },
    { mapping: { 'hdfs://': ['a'] }, location: 'hdfs://nn:8020/x', want: ['a'] },
    { mapping: { '/user/hive/': ['a'] }, location: '/user/hive/t', want: ['a'] },
    { mapping: { 's3://wh/': ['a'], 's3://wh/prod/': ['b'] }, location: 's3://wh/prod/t', want: ['b'] },
    { mapping: { 's3://WH/': ['a'] }, location: 's3://wh/x', want: undefined },
    { mapping: { 's3://wh/': ['a'] }, location: 's3a://wh/x', want: undefined },
    { mapping: { '': ['a'] }, location: 's3://wh/x', want: undefined },
    { mapping: { '__proto__/': ['a'], constructor: ['b'] }, location: 'constructor', want: ['b'] },
  ])('$mapping $location: $want', ({ mapping, location, want }) => {
    expect(indexLocations(mapping, 'prefix').find(location)?.clusters).toEqual(want)
    expect(mapLocationToClusters(location, mapping)).toEqual(want)
  })

  const piece = fc.constantFrom('s3://', 's3a://', 'hdfs://', 'wh', 'WH', '-', '_', 'prod', '/', '//', 'é', '😀', '')
  const location = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''))
  const mapping = fc.dictionary(location, fc.uniqueArray(fc.constantFrom('m1', 'm2', 'm3'), { maxLength: 3 }), {
    maxKeys: 12,
  })

  test('for generated keys and locations', () => {
    fc.assert(
      fc.property(mapping, fc.array(location, { maxLength: 5 }), location, (keys, others, tail) => {
        const index = indexLocations(keys, 'prefix')
        // Locations that begin with a key are rare otherwise.
        for (const one of [...others, ...Object.keys(keys).map((key) => key + tail), ...Object.keys(keys)]) {
          expect(index.find(one)?.clusters).toEqual(mapLocationToClusters(one, keys)?.toSorted())
        }
      }),
      { seed: 28, numRuns: 2000 },
    )
  })
})

// With a comparison per key, 50,000 look-ups among 50,000 keys take longer than the timeout of a test.
test.each(['prefix', 'segments'] as const)(
  'the cost of a look-up by %s does not grow with the number of keys',
  (matching) => {
    const bucket = (i: number) => `s3://wh-${String(i).padStart(6, '0')}/prod/`
    const numbers = Array.from({ length: 50_000 }, (_, i) => i)
    const index = indexLocations(Object.fromEntries(numbers.map((i) => [bucket(i), ['m1']])), matching)
    const found = numbers.filter((i) => index.find(`${bucket(i)}db/table`) !== undefined)
    expect(found).toHaveLength(numbers.length)
  },
)

test('the keys that match none of the locations are listed', () => {
  const mapping = { 's3://wh/': ['a'], 's3://wh/prod/': ['b'], 's3://other/': ['c'] }
  const locations = ['s3a://wh/prod/t', 's3://elsewhere/t']
  expect(unmatchedKeys(mapping, indexLocations(mapping, 'segments'), locations)).toEqual(['s3://wh/', 's3://other/'])
  expect(unmatchedKeys(mapping, indexLocations(mapping, 'prefix'), locations)).toEqual(Object.keys(mapping))
  expect(
    unmatchedKeys(mapping, indexLocations(mapping, 'segments'), ['s3://wh/prod', 's3://wh', 's3://other']),
  ).toEqual([])
})
