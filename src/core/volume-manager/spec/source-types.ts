/** The kinds of sources that a volume can have, as a table: what each needs and how it is brought to nodes. */

export interface SourceType {
  name: string
  /** The options that decide what the data is. */
  contentOptions: readonly string[]
  /** How it comes to nodes: moved there, mounted over the network, or there already. */
  delivery: 'moved' | 'mounted' | 'present'
}

const S3: SourceType = { name: 'S3', contentOptions: ['sourceURL', 'endpointURL'], delivery: 'moved' }

const SOURCE_TYPES: Readonly<Record<string, SourceType>> = {
  S3,
  // VCK's first S3 type, removed there in June 2018: the same data by other means.
  'S3-Dev': S3,
  NFS: { name: 'NFS', contentOptions: ['server', 'path'], delivery: 'mounted' },
  Pachyderm: {
    name: 'Pachyderm',
    contentOptions: ['repo', 'branch', 'inputPath', 'outputPath', 's3GatewayURL', 'pachydermServiceAddress'],
    delivery: 'moved',
  },
  Local: { name: 'Local', contentOptions: ['path'], delivery: 'present' },
  Stream: { name: 'Stream', contentOptions: ['sourceURL', 'endpointURL'], delivery: 'moved' },
}

const UNKNOWN: SourceType = { name: '', contentOptions: [], delivery: 'present' }

export const SOURCE_TYPE_NAMES: readonly string[] = Object.keys(SOURCE_TYPES)

/** The row of a source type; of one that is not known, a row that brings nothing anywhere. */
export function sourceTypeOf(name: string): SourceType {
  return Object.hasOwn(SOURCE_TYPES, name) ? (SOURCE_TYPES[name] ?? UNKNOWN) : UNKNOWN
}
