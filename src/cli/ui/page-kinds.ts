/** The kinds that the page caches. */
import { isBinding, type ResourceBinding } from '../../api/karmada.ts'
import { hasOurAnnotations } from '../../core/resource-binding/annotations.ts'
import type { WorkloadKinds } from '../../core/workload-kinds/kinds.ts'
import { type AnyCachedKind, kindKey } from '../../store/any-kind.ts'
import { placementKinds } from '../../store/kinds/cached-kinds.ts'
import { workloadExplainer } from '../explain/workload.ts'
import { statusKinds } from '../status/cached-kinds.ts'

/**
 * The kinds of all tables and explanations. Explanations read more fields of a kind than tables. Bindings and pods they read one by one, so the
 * cache has complete bindings only where Lodestone decided.
 */
export function pageKinds(workloads: WorkloadKinds): AnyCachedKind[] {
  const byKey = new Map<string, AnyCachedKind>()
  for (const kind of [...statusKinds.map(withDecided), ...workloadExplainer.reads(workloads)]) {
    byKey.set(kindKey(kind.type), { ...kind, optional: true })
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
