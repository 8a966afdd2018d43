/** Decides which clusters are local to a location: by the mapping of locations, otherwise by the region of the location. */
import type { Cluster } from '../../api/karmada.ts'
import { sortedUnique } from '../json.ts'
import { matchLocation, parseLocation } from './location.ts'

export interface ClusterRules {
  /** Location prefix → clusters. */
  locationMapping: Readonly<Record<string, readonly string[]>>
  /** `region` or `provider/region` → clusters. For a region without an entry, the Cluster objects are compared. */
  regionMapping: Readonly<Record<string, readonly string[]>>
  /** The region of all data in the system, for locations that do not contain one. */
  region?: string
  /** The provider of these regions: names such as `us-east-1` may be used by several providers. */
  provider?: string
}

const PROVIDERS: Readonly<Record<string, string>> = {
  amazon: 'aws',
  google: 'gcp',
  gce: 'gcp',
  microsoft: 'azure',
  alicloud: 'aliyun',
  alibaba: 'aliyun',
  alibabacloud: 'aliyun',
  tencentcloud: 'tencent',
}

/** Returns the names of the clusters that are local to a location, sorted; an empty list if none is known. */
export function clustersOfLocation(uri: string, rules: ClusterRules, clusters: readonly Cluster[]): string[] {
  const mapped = matchLocation(uri, rules.locationMapping)
  if (mapped !== undefined) return mapped
  const named = parseLocation(uri)?.regions ?? []
  const regions = named.length > 0 || rules.region === undefined ? named : [rules.region.toLowerCase()]
  return sortedUnique(regions.flatMap((region) => clustersOfRegion(region, rules, clusters)))
}

/** Whether the mapping of regions has an entry for a region. Then the configuration says what this name means. */
export function mapsRegion(region: string, rules: Pick<ClusterRules, 'regionMapping' | 'provider'>): boolean {
  return mappedClusters(region.toLowerCase(), rules) !== undefined
}

function clustersOfRegion(region: string, rules: ClusterRules, clusters: readonly Cluster[]): readonly string[] {
  const provider = providerName(rules.provider)
  return (
    mappedClusters(region, rules) ??
    clusters.filter((cluster) => isIn(cluster, region, provider)).flatMap(({ metadata }) => metadata.name ?? [])
  )
}

/** The clusters of a region by the mapping. An entry of the provider precedes one of any provider. */
function mappedClusters(
  region: string,
  { regionMapping, provider }: Pick<ClusterRules, 'regionMapping' | 'provider'>,
): readonly string[] | undefined {
  const owner = providerName(provider)
  const keys = owner === undefined ? [region] : [`${owner}/${region}`, region]
  const mapping = new Map(Object.entries(regionMapping).map(([key, names]) => [regionKey(key), names]))
  return keys.map((key) => mapping.get(key)).find((names) => names !== undefined)
}

/**
 * Whether a cluster is in a region. The name of a zone counts as well, since a bucket may be in one zone only. A cluster without a provider
 * matches any.
 */
function isIn({ spec }: Cluster, region: string, provider: string | undefined): boolean {
  const its = providerName(spec.provider)
  if (provider !== undefined && its !== undefined && provider !== its) return false
  return spec.region?.toLowerCase() === region || (spec.zones ?? []).some((zone) => zone.toLowerCase() === region)
}

function regionKey(key: string): string {
  const [provider, region] = key.toLowerCase().split('/')
  return region === undefined ? key.toLowerCase() : `${providerName(provider)}/${region}`
}

function providerName(provider: string | undefined): string | undefined {
  if (provider === undefined || provider === '') return undefined
  const name = provider.toLowerCase()
  return PROVIDERS[name] ?? name
}
