/** The table of source types: the options that identify the data, and how it gets to nodes. Also the revision of the data. */
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import { fnv1a } from '../../../base/hash.ts'
import { shardNames } from './distribution.ts'

export interface SourceType {
  name: string
  /** The options that identify the data. */
  contentOptions: readonly string[]
  /** The other options. */
  otherOptions: readonly string[]
  /** Those of the other options that name a Secret. A workload that follows its volume to a member cluster brings these Secrets. */
  secretOptions: readonly string[]
  /** How the data gets to nodes: moved by movers, mounted over the network, or already present. */
  delivery: 'moved' | 'mounted' | 'present'
}

/** The options that select objects and name their files. */
const OF_SELECTION = ['exclude', 'flatten']
const OF_S3 = ['awsCredentialsSecretName', 'region', 'verify', 'pathStyle', 'requesterPays', 'requestHeaders']
const OF_DOWNLOADS = ['dataPath', 'timeoutForDataDownload', 'distributionStrategy', ...OF_SELECTION]
const OF_UPLOADS = ['resync', 'resyncInterval']

const S3: SourceType = {
  name: 'S3',
  contentOptions: ['sourceURL', 'endpointURL'],
  otherOptions: [...OF_S3, ...OF_DOWNLOADS, ...OF_UPLOADS],
  secretOptions: ['awsCredentialsSecretName'],
  delivery: 'moved',
}

const SOURCE_TYPES: Readonly<Record<string, SourceType>> = {
  S3,
  // VCK's first S3 type, which VCK removed in June 2018. It identifies the same data as S3.
  'S3-Dev': S3,
  NFS: { name: 'NFS', contentOptions: ['server', 'path'], otherOptions: [], secretOptions: [], delivery: 'mounted' },
  Pachyderm: {
    name: 'Pachyderm',
    contentOptions: ['repo', 'branch', 'inputPath', 'outputPath', 's3GatewayURL', 'pachydermServiceAddress'],
    otherOptions: ['pachAuthSecretName', ...OF_S3, ...OF_DOWNLOADS, ...OF_UPLOADS],
    secretOptions: ['pachAuthSecretName'],
    delivery: 'moved',
  },
  Local: { name: 'Local', contentOptions: ['path'], otherOptions: [], secretOptions: [], delivery: 'present' },
  Stream: {
    name: 'Stream',
    contentOptions: ['sourceURL', 'endpointURL'],
    otherOptions: [...OF_S3, 'azureCredentialsSecretName', ...OF_DOWNLOADS],
    secretOptions: ['awsCredentialsSecretName', 'azureCredentialsSecretName'],
    delivery: 'moved',
  },
  AzureBlob: {
    name: 'AzureBlob',
    contentOptions: ['sourceURL', 'endpointURL'],
    otherOptions: ['azureCredentialsSecretName', 'verify', ...OF_DOWNLOADS, ...OF_UPLOADS],
    secretOptions: ['azureCredentialsSecretName'],
    delivery: 'moved',
  },
}

const UNKNOWN: SourceType = { name: '', contentOptions: [], otherOptions: [], secretOptions: [], delivery: 'present' }

export const SOURCE_TYPE_NAMES: readonly string[] = Object.keys(SOURCE_TYPES)

/** The options of all types that name a Secret. */
export const SECRET_OPTIONS: readonly string[] = [
  ...new Set(Object.values(SOURCE_TYPES).flatMap(({ secretOptions }) => secretOptions)),
]

/** The names of all options of a source type; undefined for an unknown type. */
export function sourceTypeOptions(name: string): readonly string[] | undefined {
  if (!Object.hasOwn(SOURCE_TYPES, name)) return undefined
  const { contentOptions, otherOptions } = sourceTypeOf(name)
  return [...contentOptions, ...otherOptions]
}

/** The row of a source type. An unknown type moves no data; a stored one can be of any JSON type (CRD of VCK). */
export function sourceTypeOf(name: unknown): SourceType {
  return typeof name === 'string' && Object.hasOwn(SOURCE_TYPES, name) ? (SOURCE_TYPES[name] ?? UNKNOWN) : UNKNOWN
}

/** A digest of the source alone: where changes are written back to. */
export function sourceDigest({ sourceType, options = {} }: VolumeConfig): string {
  const { name, contentOptions } = sourceTypeOf(sourceType)
  return fnv1a(JSON.stringify([name, contentOptions.map((option) => options[option] ?? '')]))
}

/**
 * A digest of the source, the shards and the root directory of the data: data of another revision is other data. The number of replicas,
 * their nodes and their pods are not part of the digest. The root directory is, since data in another directory is another copy.
 */
export function revisionOf(config: VolumeConfig): string {
  const { options = {} } = config
  const names = [...sourceTypeOf(config.sourceType).contentOptions, 'dataPath']
  const selection = OF_SELECTION.filter((name) => options[name])
  const content = [...names, ...selection].map((name) => [name, options[name] ?? ''])
  return fnv1a(JSON.stringify([sourceTypeOf(config.sourceType).name, content, shardNames(config)]))
}
