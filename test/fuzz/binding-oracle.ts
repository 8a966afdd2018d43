/** Checks a changed binding by Karmada's rules alone: it is allowed on no further cluster, and follows workloads to none. */
import type { AdmissionRequest } from '../../src/api/admission.ts'
import {
  type BindingSpec,
  type Cluster,
  clusters as clusterType,
  type Placement,
  type PropagationPolicy,
  propagationPolicies,
  type ResourceBinding,
} from '../../src/api/karmada.ts'
import { BASE_AFFINITY_ANNOTATION } from '../../src/api/lodestone.ts'
import type { K8sObject } from '../../src/api/meta.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import type { Wrong } from './oracle.ts'
import { feasible, namesIn } from './placement.ts'

/** This check skips placements with more names, because it looks at every cluster for every term. The other checks cover them. */
const MAX_NAMES = 3_000

export function judgeBinding(store: ObjectStore, request: AdmissionRequest, result: K8sObject): Wrong | undefined {
  const [before, stored, after] = [request.object, request.oldObject, result] as (ResourceBinding | null | undefined)[]
  const bases = basesOf(store, before, stored)
  const placement = after?.spec.placement ?? {}
  const clusters = everyCluster(store, [placement, ...bases])
  if (clusters.length > MAX_NAMES) return undefined
  const { spec } = after as ResourceBinding
  const invented = inventedEntry(spec, [before?.spec, stored?.spec])
  if (invented) return { kind: 'invented clusters', message: invented }
  const isWorkload = (spec.replicas ?? 0) > 0 || spec.replicaRequirements != null || !!spec.components?.length
  const allowed = feasible(placement, clusters, isWorkload)
  const outside = bases.map((base) => {
    const within = feasible(base, clusters, isWorkload)
    return [...allowed].filter((name) => !within.has(name))
  })
  if (outside.some((names) => names.length === 0)) return undefined
  return {
    kind: 'outside the base',
    message: `${JSON.stringify(outside).slice(0, 300)}: ${JSON.stringify(placement).slice(0, 400)} of ${JSON.stringify(bases).slice(0, 600)}`,
  }
}

/** Returns an entry of `requiredBy` that is neither in the request nor stored; undefined if there is none. */
function inventedEntry(after: BindingSpec, known: readonly (BindingSpec | undefined)[]): string | undefined {
  const entries = new Set(
    known.flatMap((spec) => spec?.requiredBy ?? []).map((entry) => JSON.stringify(entry.clusters)),
  )
  return (after.requiredBy ?? []).map((entry) => JSON.stringify(entry.clusters)).find((text) => !entries.has(text))
}

/** Returns the placements that may apply to this write: its own and its policy's, or the recorded ones while no policy is known. */
function basesOf(
  store: ObjectStore,
  before: ResourceBinding | null | undefined,
  stored: ResourceBinding | null | undefined,
): Placement[] {
  const incoming = before?.spec.placement ?? {}
  if (!stored) return [incoming]
  const annotations = before?.metadata.annotations ?? {}
  const policy = store.get<PropagationPolicy>(
    propagationPolicies,
    annotations['propagationpolicy.karmada.io/namespace'],
    annotations['propagationpolicy.karmada.io/name'] ?? '',
  )
  if (policy) return [incoming, policy.spec.placement ?? {}]
  return [incoming, ...[before, stored].flatMap((binding) => notedBase(binding))]
}

function notedBase(binding: ResourceBinding | null | undefined): Placement[] {
  const text = binding?.metadata?.annotations?.[BASE_AFFINITY_ANNOTATION]
  if (typeof text !== 'string') return []
  try {
    const base = JSON.parse(text) as Placement
    namesIn(base)
    return [base]
  } catch {
    return [] // A user wrote something else there: it says nothing.
  }
}

function everyCluster(store: ObjectStore, placements: readonly Placement[]): Cluster[] {
  const known = store.size(clusterType) > 0 ? [...store.list(clusterType)] : []
  const names = new Set(known.map(({ metadata }) => metadata.name))
  const others = [...new Set(placements.flatMap(namesIn))].filter((name) => !names.has(name))
  return [
    ...known,
    ...others.map((name): Cluster => ({ apiVersion: '', kind: 'Cluster', metadata: { name }, spec: {} })),
  ]
}
