/** Tests the parser of locations. */
import { describe, expect, test } from 'vitest'
import { parseLocation, problemOfLocationKey, withRegions } from './location.ts'
import { indexLocations } from './location-index.ts'

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

describe('a key that can match a location has no problem', () => {
  test.each([
    { key: 's3://wh', location: 's3a://wh/x' },
    { key: 's3://wh/prod_', location: 's3://wh/prod_/x' },
    { key: 'S3://WH.eu/', location: 's3://wh.eu/x' },
    { key: 'gs://b_1/x', location: 'gs://b_1/x/y' },
    { key: 'abfss://data@acct.dfs.core.windows.net/raw', location: 'wasb://data@acct.blob.core.windows.net/raw/x' },
    { key: 'hdfs://nn:8020/', location: 'hdfs://nn:8020/x' },
    { key: 'hdfs://[::1]:8020/', location: 'hdfs://[::1]:8020/x' },
    { key: 'hdfs:///user/hive', location: 'hdfs:///user/hive/t' },
    { key: 'file:/mnt', location: 'file:///mnt/x' },
    { key: 'dbfs:/mnt', location: 'dbfs:/mnt/x' },
    { key: 's3://arn:aws:s3:eu-west-1:1:accesspoint', location: 's3://arn:aws:s3:eu-west-1:1:accesspoint/a' },
  ])('$key', ({ key, location }) => {
    expect(problemOfLocationKey(key)).toBeUndefined()
    expect(indexLocations({ [key]: ['m1'] }, 'segments').find(location)).toEqual({ keys: [key], clusters: ['m1'] })
  })
})

describe('a key that can never match a location has a problem with its remedy', () => {
  test.each([
    { key: '/user/hive/', want: 'must be a location such as s3://bucket/path' },
    { key: '', want: 'must be a location' },
    { key: 's3://', want: 'it names no bucket; write s3://BUCKET for each bucket' },
    { key: 'gs:///x', want: 'it names no bucket' },
    { key: 's3://warehouse-', want: 'no bucket has the name warehouse-; write whole names' },
    { key: 's3://-x/y', want: 'no bucket has the name -x' },
    { key: 's3a://wh*/', want: 'no bucket has the name wh*' },
    { key: 'cosn://wh_/', want: 'no bucket has the name wh_' },
    { key: 'abfss://data', want: 'abfss://CONTAINER@ACCOUNT.dfs.core.windows.net' },
    { key: 'abfss://@acct.dfs.core.windows.net/', want: 'write both names' },
    { key: 'hdfs://', want: 'it names no file system; write hdfs://NAMESERVICE' },
    { key: 'viewfs:///', want: 'it names no file system' },
    { key: 'hdfs://ns-/', want: 'no file system has the name ns-' },
    { key: 'hdfs://nn:', want: 'no file system has the name nn:' },
  ])('$key', ({ key, want }) => {
    expect(problemOfLocationKey(key)).toContain(want)
  })
})
