/** Estimates the size of the status of a VolumeManager from its spec: a status that is too large cannot be written. */
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import { jsonBytes } from '../../admission/object-size.ts'
import { shardNames } from './distribution.ts'
import { DEFAULT_DATA_PATH } from './names.ts'

/** An object has at most 1.5 MiB, and spec, metadata and messages of failures need the rest. */
export const MAX_STATUS_BYTES = 1024 * 1024

/** The bytes of each entry without its path and its pattern, with a short message. */
const ENTRY_BYTES = { volume: 800, replica: 700, shard: 300 } as const

/** About how many bytes the status of these volumes has when all replicas are placed. */
export function estimateStatusBytes(configs: readonly VolumeConfig[]): number {
  return configs.reduce((sum, config) => {
    const { replicas = 0, options = {} } = config
    const path = jsonBytes(options['dataPath'] || options['path'] || DEFAULT_DATA_PATH)
    const shards = shardNames(config).map((name) => jsonBytes(name))
    const replica = ENTRY_BYTES.replica + path + Math.max(0, ...shards)
    const parts = shards.reduce((bytes, shard) => bytes + ENTRY_BYTES.shard + shard, 0)
    return sum + ENTRY_BYTES.volume + path + replicas * replica + parts
  }, 0)
}
