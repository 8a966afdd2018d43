/** The rules of Karmada's scheduler that differ between versions, and which of them an API server has. */
import { isObject } from '../base/json.ts'

/** The rules of one Karmada version. A rule that is `true` allows more clusters than one that is `false`. */
export interface KarmadaRules {
  /** `zone In` matches if one zone of the cluster is listed; else every zone of the cluster must be listed. */
  readonly zoneInMatchesAny: boolean
  /** Groups have overflow tiers; else the scheduler uses only the clusters of the group itself. */
  readonly overflowAffinities: boolean
}

/** The Karmada version that brought each rule: the minor version, the source, and the change. */
const since: Readonly<Record<keyof KarmadaRules, { minor: number; source: string; change: string }>> = {
  zoneInMatchesAny: { minor: 18, source: 'pkg/util/selector.go, matchZones', change: 'karmada#6431' },
  overflowAffinities: {
    minor: 18,
    source: 'pkg/scheduler/framework/plugins/clusteraffinity/cluster_affinity.go',
    change: 'karmada#7423',
  },
}

/**
 * The rules if the version is not known: a cluster counts as allowed only if every supported version allows it. A narrowing to a cluster that
 * the scheduler refuses would delete the workload.
 */
export const strictestRules: KarmadaRules = rulesOfMinor({ minor: 0 })

/** The rules of the newest supported version. */
export const newestRules: KarmadaRules = rulesOfMinor({ minor: Number.POSITIVE_INFINITY })

/** The form of a version in the configuration and on the command line: `1.17`, `v1.17` or `v1.17.1`. */
export const KARMADA_VERSION_PATTERN = /^v?1\.(\d{1,4})(\.\d+)?([-+].*)?$/

/** Returns the rules of a version such as `1.17` or `v1.17.1`; undefined if it is no version of Karmada. */
export function rulesOfVersion(version: string): KarmadaRules | undefined {
  const minor = KARMADA_VERSION_PATTERN.exec(version)?.[1]
  return minor === undefined ? undefined : rulesOfMinor({ minor: Number(minor) })
}

/**
 * Returns the rules of an API server by the OpenAPI schemas of its bindings. The API of Karmada does not show a version, but all rules came
 * with 1.18.0, and so did the field `overflowAffinities`. Schemas without the field, or none, give the strictest rules.
 */
export function rulesOfSchemas(schemas: Readonly<Record<string, unknown>> = {}): KarmadaRules {
  const field = ['spec', 'placement', 'clusterAffinities', 'overflowAffinities']
  return haveField(schemas, field) ? rulesOfMinor({ minor: 18 }) : strictestRules
}

function rulesOfMinor({ minor }: { minor: number }): KarmadaRules {
  return {
    zoneInMatchesAny: minor >= since.zoneInMatchesAny.minor,
    overflowAffinities: minor >= since.overflowAffinities.minor,
  }
}

/** Whether one of these OpenAPI schemas has a field. A field of the items of a list follows that of the list. */
export function haveField(schemas: Readonly<Record<string, unknown>>, path: readonly string[]): boolean {
  return Object.values(schemas).some((schema) => {
    let found: unknown = schema
    for (const field of path) {
      const { properties, items } = isObject(found) ? found : {}
      const fields = properties ?? (isObject(items) ? items['properties'] : undefined)
      found = isObject(fields) ? fields[field] : undefined
    }
    return found !== undefined
  })
}
