/** The kinds that the page caches. */
import { isBinding, type ResourceBinding } from '../../api/karmada.ts'
import { type Pod, pods } from '../../api/pod.ts'
import { defined } from '../../base/json.ts'
import { hasOurAnnotations } from '../../core/resource-binding/annotations.ts'
import { useOf } from '../../core/volume-manager/pod-use.ts'
import type { WorkloadKinds } from '../../core/workload-kinds/kinds.ts'
import { type AnyCachedKind, kindKey } from '../../store/any-kind.ts'
import { placementKinds } from '../../store/kinds/cached-kinds.ts'
import { injectionKinds } from '../../store/kinds/volumes.ts'
import { withWholePolicies } from '../check/hub/read-hub.ts'
import { workloadExplainer } from '../explain/workload.ts'
import { statusKinds } from '../status/cached-kinds.ts'

/**
 * The kinds of all tables and explanations. Explanations read more fields of a kind than tables. Bindings and pods they read one by one, so the
 * cache has complete bindings only where Lodestone decided.
 */
export function pageKinds(workloads: WorkloadKinds): AnyCachedKind[] {
  const byKey = new Map<string, AnyCachedKind>()
  for (const kind of [...statusKinds.map(withDecided).map(withUse), ...workloadExplainer.reads(workloads)]) {
    byKey.set(kindKey(kind.type), { ...withWholePolicies(kind), optional: true })
  }
  return [...byKey.values()]
}

function withDecided(kind: AnyCachedKind): AnyCachedKind {
  const complete = isBinding(kind.type.kind) && placementKinds.find(({ type }) => kindKey(type) === kindKey(kind.type))
  if (!complete) return kind
  const keep = (raw: ResourceBinding) =>
    (hasOurAnnotations(raw.metadata.annotations) ? complete : kind).keep(raw as never)
  return { ...kind, keep }
}

/** Adds to pods the data that they mount, by which the pods of a replica are found. */
function withUse(kind: AnyCachedKind): AnyCachedKind {
  const complete = kind.type.kind === pods.kind && injectionKinds.find(({ type }) => type.kind === pods.kind)
  if (!complete) return kind
  const { directory, claim } = complete.indexes
  const keep = (raw: Pod) => ({ ...kind.keep(raw as never), ...defined({ use: useOf(raw) }) })
  return { ...kind, keep, indexes: { ...kind.indexes, ...defined({ directory, claim }) } }
}
