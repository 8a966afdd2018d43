/** Decides the location and size of a table or partition of a Hive Metastore. */
import { dataLocation } from './iceberg.ts'

/** The fields of a table or partition that decide. */
export interface HiveStorage {
  location: string | undefined
  parameters: Readonly<Record<string, string>>
  /** Only tables have one, such as `VIRTUAL_VIEW`. */
  tableType?: string | undefined
  partitionKeys: number
}

/** The parameters that are read. Iceberg keeps the properties of its tables there as well. */
export const HIVE_PARAMETERS: ReadonlySet<string> = new Set([
  'totalSize',
  'table_type',
  'write.data.path',
  'write.object-storage.enabled',
  'write.object-storage.path',
  'write.folder-storage.path',
])

/** Returns the location of the data; undefined if there is none. The size is that of the statistics, which Hive, Spark and Iceberg write. */
export function locationOfHive(storage: HiveStorage): { location: string; bytes?: number } | undefined {
  const { location: folder, parameters } = storage
  const isIceberg = parameters['table_type']?.toLowerCase() === 'iceberg'
  const location = isIceberg ? dataLocation({ properties: parameters, location: folder }) : folder
  if (location === undefined || location === '') return undefined
  const bytes = bytesOf(storage)
  return bytes === undefined ? { location } : { location, bytes }
}

/** The size. Hive counts the bytes of a partitioned table at its partitions, and writes 0 at the table. */
function bytesOf({ parameters, partitionKeys }: HiveStorage): number | undefined {
  const { totalSize = '' } = parameters
  if (!/^\d{1,16}$/.test(totalSize)) return undefined
  const bytes = Number(totalSize)
  return Number.isSafeInteger(bytes) && (bytes > 0 || partitionKeys === 0) ? bytes : undefined
}

/** Whether a table has no data of its own. */
export function isHiveView({ tableType }: HiveStorage): boolean {
  return tableType === 'VIRTUAL_VIEW'
}
