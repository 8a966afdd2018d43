import { expect, test } from 'vitest'
import { makeSource } from '../../../test/builders.ts'
import { removedColumns, sourceColumns } from './columns.ts'

test('the columns are the clusters and the size of the location', () => {
  const locality = { clusterNames: ['member1', 'member2'], bytes: 5368709120, bytesAreMinimum: true }
  expect(sourceColumns(makeSource({ locality }))).toEqual({ clusters: 'member1,member2', size: '>=5.0Gi' })
  expect(sourceColumns(makeSource({ locality: { clusterNames: [] } }))).toEqual({
    clusters: undefined,
    size: undefined,
  })
})

test('a column without a value is removed, once', () => {
  const none = { clusters: undefined, size: undefined }
  expect(removedColumns({ clusters: 'member1', size: '1' }, none)).toEqual({ clusters: null, size: null })
  expect(removedColumns({ clusters: 'member1' }, { clusters: 'member2', size: '1' })).toEqual({})
  expect(removedColumns({}, none)).toEqual({})
})
