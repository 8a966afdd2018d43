/** Tests the parser of locations. */
import { expect, test } from 'vitest'
import { parseLocation, withRegions } from './location.ts'

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
