/** Applies a manifest to the stored object in memory, as `kubectl apply` does. */

import { dataSources } from '../../../api/data-source.ts'
import { type Cluster, clusterPropagationPolicies, clusters, propagationPolicies } from '../../../api/karmada.ts'
import { ALLOW_CLAIMS_FROM_ANNOTATION } from '../../../api/lodestone.ts'
import { type K8sObject, LAST_APPLIED_ANNOTATION } from '../../../api/meta.ts'
import type { Taint } from '../../../api/node.ts'
import { defined, isObject, parseJson, without } from '../../../base/json.ts'
import { hasType } from '../input/validate-manifest.ts'

/** An object with the fields that a manifest may leave out. */
interface Whole extends K8sObject {
  spec?: Record<string, unknown>
  status?: unknown
}

/** The fields of a spec that a component writes. The other fields of a spec are those of the manifest: their owner writes all of them. */
const WRITTEN_FIELDS = [
  { type: dataSources, fields: ['locality'] },
  { type: propagationPolicies, fields: ['propagateDeps'] },
  { type: clusterPropagationPolicies, fields: ['propagateDeps'] },
  // karmadactl writes them when a cluster joins.
  { type: clusters, fields: ['syncMode', 'provider', 'region', 'zone', 'zones', 'taints'] },
] as const

const KARMADA_TAINTS = 'cluster.karmada.io/'

/**
 * Returns the object that an API server has after `kubectl apply`. What other writers added stays: the status, labels, annotations, the deletion
 * time, and some fields of the spec. An object with the annotation of kubectl says what was applied last. Then what only that has is removed.
 *
 * @param stored undefined for a new object, which is returned as it is
 */
export function applyManifest(manifest: K8sObject, stored: K8sObject | undefined): K8sObject {
  if (!stored) return manifest
  const last = lastApplied(stored)
  const { uid, resourceVersion, generation, deletionTimestamp } = stored.metadata
  const { labels, annotations, ...metadata } = without(manifest.metadata, 'deletionTimestamp')
  return {
    ...without(manifest as Whole, 'status'),
    metadata: defined({
      ...stored.metadata,
      ...metadata,
      ...defined({ uid, resourceVersion, generation, deletionTimestamp }),
      labels: merged(labels, stored.metadata.labels, last?.metadata?.labels),
      annotations: merged(annotations, stored.metadata.annotations, last?.metadata?.annotations),
    }),
    ...defined({ spec: appliedSpec(manifest, stored, last), status: (stored as Whole).status }),
  } as K8sObject
}

/**
 * Returns the names of labels and annotations that a manifest lacks and its object keeps, as far as decisions read them. Those of Kubernetes and
 * Karmada are left out: no manifest has them.
 */
export function keptNames(manifest: K8sObject, applied: K8sObject): string[] {
  const added = (given: Values = {}, all: Values = {}) => Object.keys(all).filter((key) => given[key] === undefined)
  const labels = added(manifest.metadata.labels, applied.metadata.labels).filter((key) => !isSystemName(key))
  const grants = added(manifest.metadata.annotations, applied.metadata.annotations).filter(
    (key) => key === ALLOW_CLAIMS_FROM_ANNOTATION,
  )
  return [...labels, ...grants]
}

type Values = Readonly<Record<string, string | undefined>>

function isSystemName(key: string): boolean {
  const [domain = '', name] = key.split('/')
  return name !== undefined && /(^|\.)(kubernetes|k8s|karmada)\.io$/.test(domain)
}

/** The manifest that kubectl applied last; undefined if it is not known. */
function lastApplied({ metadata }: K8sObject): Partial<Whole> | undefined {
  const last = parseJson(metadata.annotations?.[LAST_APPLIED_ANNOTATION])
  return isObject(last) && isObject(last['metadata']) ? (last as Partial<Whole>) : undefined
}

/** Returns the given members, and those stored ones that were not applied last. */
function merged<T>(
  given: Readonly<Record<string, T>> | undefined,
  stored: Readonly<Record<string, T>> | undefined,
  last: unknown,
): Record<string, T> | undefined {
  if (!stored) return given
  const isApplied = (key: string) => isObject(last) && Object.hasOwn(last, key)
  return { ...Object.fromEntries(Object.entries(stored).filter(([key]) => !isApplied(key))), ...given }
}

function appliedSpec(manifest: Whole, stored: Whole, last: Partial<Whole> | undefined): Whole['spec'] {
  const fields = WRITTEN_FIELDS.find(({ type }) => hasType(type, manifest))?.fields
  if (!fields || !stored.spec) return manifest.spec
  const kept = Object.fromEntries(
    Object.entries(stored.spec).filter(([name]) => fields.some((field) => field === name)),
  )
  const spec = { ...merged(manifest.spec, kept, last?.spec) }
  return hasType(clusters, manifest) ? withTaintsOfKarmada(spec, stored as Cluster) : spec
}

/** Karmada adds its taints again, as long as the state of the cluster is the same. */
function withTaintsOfKarmada(spec: NonNullable<Cluster['spec']>, stored: Cluster): Whole['spec'] {
  const { taints = [] } = spec
  const isGiven = (taint: Taint) => taints.some(({ key, effect }) => key === taint.key && effect === taint.effect)
  const all = stored.spec?.taints ?? []
  const missing = all.filter((taint) => taint.key.startsWith(KARMADA_TAINTS) && !isGiven(taint))
  return missing.length === 0 ? { ...spec } : { ...spec, taints: [...taints, ...missing] }
}
