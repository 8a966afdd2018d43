/** Tests locations against mappings: families of schemes, authorities, whole segments, and the longest entry. */
import { describe, expect, test } from 'vitest'
import { matchLocation, parseLocation, withRegions } from './location.ts'

describe('I: which entry covers a location', () => {
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
    { location: 'hdfs://nn:8020/x', want: ['eight'] },
    { location: 'hdfs://nn:9000/x', want: ['any'] },
    { location: 'file:///mnt/data/x', want: ['local'] },
    { location: 'not a location', want: undefined },
  ])('$location: $want', ({ location, want }) => {
    expect(matchLocation(location, mapping)).toEqual(want)
  })
})

test('equivalent entries are combined, unless one has the scheme of the location', () => {
  const mapping = { 's3://wh/': ['a'], 's3a://wh': ['b'], 's3://wh': ['c'] }
  expect(matchLocation('s3n://wh/x', mapping)).toEqual(['a', 'b', 'c'])
  expect(matchLocation('s3a://wh/x', mapping)).toEqual(['b'])
  expect(matchLocation('s3://wh/x', Object.fromEntries(Object.entries(mapping).reverse()))).toEqual(['a', 'c'])
})

test('an entry without clusters means no cluster', () => {
  expect(matchLocation('s3://wh/x', { 's3://wh/x': [], 's3://wh': ['a'] })).toEqual([])
})

test('regions are appended to a location and parsed again', () => {
  const uri = withRegions('gs://b/key?v=1', ['EUROPE-WEST1', 'europe-west4'])
  expect(uri).toBe('gs://b/key?v=1?region=EUROPE-WEST1,europe-west4')
  expect(parseLocation(uri)).toMatchObject({ segments: ['key?v=1'], regions: ['europe-west1', 'europe-west4'] })
  expect(withRegions('s3://b', [])).toBe('s3://b')
})

test.each(['%j is not a location', 'warehouse/', '/warehouse', 's3', 's3:', '1s3://b', 's3 ://b'])(
  '%j is no location',
  (text) => {
    expect(parseLocation(text)).toBeUndefined()
  },
)
