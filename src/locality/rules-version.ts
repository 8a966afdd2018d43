/** Computes a version of all inputs that map a location to clusters. */
import { createHash } from 'node:crypto'
import type { Cluster } from '../api/karmada.ts'

/**
 * Returns a function that computes the version for the present clusters. Every query of a system needs it, and a fleet has thousands of clusters. So
 * the version is computed anew only if one is in another place.
 *
 * @param rules the part of the configuration that does not change
 */
export function openRulesVersion(rules: unknown): (clusters: readonly Cluster[]) => string {
  const fixed = digest(rules)
  // A cached Cluster never changes.
  const texts = new WeakMap<Cluster, string>()
  let known: { places: readonly string[]; version: string } | undefined
  const placeOf = (cluster: Cluster) => {
    const place = texts.get(cluster) ?? describePlace(cluster)
    texts.set(cluster, place)
    return place
  }
  return (clusters) => {
    const places = clusters.map(placeOf)
    if (!known || !isSameList(known.places, places)) known = { places, version: digest([fixed, places.toSorted()]) }
    return known.version
  }
}

function describePlace({ metadata, spec }: Cluster): string {
  return JSON.stringify([metadata.name, spec.provider, spec.region, spec.zones])
}

function isSameList(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((text, i) => text === other[i])
}

function digest(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64url').slice(0, 12)
}
