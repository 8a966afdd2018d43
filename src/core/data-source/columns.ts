/** The fields of a DataSource's status that are columns of `kubectl get`. */
import type { DataSource } from '../../api/data-source.ts'
import { defined } from '../../base/json.ts'
import { namesColumn, sizeColumn } from '../columns.ts'

interface Columns {
  clusters: string | undefined
  size: string | undefined
}

/** Returns the columns of the location; undefined for a column without a value. */
export function sourceColumns({ spec }: Pick<DataSource, 'spec'>): Columns {
  const { clusterNames, bytes, bytesAreMinimum } = spec.locality ?? {}
  return {
    clusters: clusterNames?.length ? namesColumn(clusterNames) : undefined,
    size: bytes === undefined ? undefined : sizeColumn(bytes, bytesAreMinimum),
  }
}

/** Removes, in a merge patch, the columns of a status that have no value any more. */
export function removedColumns(before: Partial<Columns>, columns: Columns): { clusters?: null; size?: null } {
  return defined({
    clusters: before.clusters !== undefined && columns.clusters === undefined ? null : undefined,
    size: before.size !== undefined && columns.size === undefined ? null : undefined,
  })
}
