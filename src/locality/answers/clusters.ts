/** Decides which clusters are local to a location: by the mapping of locations, otherwise by the region of the location. */
import type { Cluster } from '../../api/karmada.ts'
import { sortedUnique } from '../../base/json.ts'
import { printable } from '../../base/printable.ts'
import { cut } from '../../core/outcome.ts'
import { parseLocation } from './location.ts'
import type { LocationIndex } from './location-index.ts'

export interface ClusterRules {
  /** The compiled `locationMapping`. */
  locations: LocationIndex
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
export function clustersOfLocation(uri: string, rules: ClusterRules, clusters: readonly Cluster[]): readonly string[] {
  const mapped = rules.locations.find(uri)
  if (mapped !== undefined) return mapped.clusters
  return sortedUnique(locationRegions(uri, rules).flatMap((region) => clustersOfRegion(region, rules, clusters)))
}

/**
 * Returns why a location is local to no cluster, with the remedy.
 *
 * @param system the name of the data system, for the message
 */
export function whyNoCluster(uri: string, rules: ClusterRules, system: string): string {
  const location = `location ${describeLocation(uri)}`
  const mapped = rules.locations.find(uri)
  if (mapped !== undefined) {
    const key = cut(mapped.keys.join(', '), MAX_SHOWN)
    return `${location} matches ${key} in locationMapping of system ${system}, which lists no cluster; add its clusters`
  }
  const noKey = `matches no key of locationMapping of system ${system}`
  const regions = locationRegions(uri, rules)
  if (regions.length === 0) return `${location} ${noKey}; add one`
  return `${location} ${noKey}, and no cluster is in region ${regions.join(', ')}; add a key, or the region to regionMapping`
}

/** In characters. */
const MAX_SHOWN = 256

/**
 * Returns a location for a message, without credentials. Hadoop accepts keys of S3 in a location (`s3n://ID:SECRET@bucket/`). Azure
 * accepts a signature as a parameter.
 */
export function describeLocation(uri: string): string {
  const safe = uri.replace(/(?<=:\/\/)[^/@]*:[^/@]*(?=@)/, '***').replace(/\?.*$/s, '')
  return cut(printable(safe), MAX_SHOWN)
}

/** The regions in the location, or else the configured one. volcano-global has no regions. */
function locationRegions(uri: string, { locations, region }: ClusterRules): readonly string[] {
  if (locations.matching === 'prefix') return []
  const named = parseLocation(uri)?.regions ?? []
  return named.length > 0 || region === undefined ? named : [region.toLowerCase()]
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
