/** Parses VCK's option `distributionStrategy`, which gives the number of nodes for each shard of the data. */
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import { isObject, parseJson } from '../../../base/json.ts'

/** The most shards of a volume. Each shard has its own nodes, label and entry in the status. */
export const MAX_SHARDS = 100

/** The number of replicas by pattern; undefined when the option is not a JSON object of non-negative integers. */
export function parseDistribution(text: string): Map<string, number> | undefined {
  const value = parseJson(text)
  if (!isObject(value)) return undefined
  const patterns = Object.keys(value).sort()
  const isCount = (count: unknown) => Number.isInteger(count) && Number(count) >= 0
  if (!patterns.every((pattern) => pattern !== '' && isCount(value[pattern]))) return undefined
  return new Map(patterns.map((pattern) => [pattern, Number(value[pattern])]))
}

/** The names of the shards of a volume, sorted; empty when every node gets all of the data. */
export function shardNames({ options = {} }: VolumeConfig): string[] {
  const { distributionStrategy } = options
  return distributionStrategy === undefined
    ? []
    : [...(parseDistribution(distributionStrategy)?.keys() ?? [])].slice(0, MAX_SHARDS)
}

/** The number of replicas of each shard. The key undefined is all of the data. */
export function wantedReplicas(config: VolumeConfig): Map<string | undefined, number> {
  const { replicas = 1, options = {} } = config
  const shards = options['distributionStrategy'] && parseDistribution(options['distributionStrategy'])
  return shards ? new Map<string | undefined, number>(shards) : new Map([[undefined, replicas]])
}

/**
 * The URL of a source. A source that is divided into shards is a prefix, also without a slash at the end. VCK's user guide has such an
 * example: `s3://foo/bar`.
 */
export function prefixIfDivided(url: string, config: VolumeConfig): string {
  return url.endsWith('/') || shardNames(config).length === 0 ? url : `${url}/`
}
