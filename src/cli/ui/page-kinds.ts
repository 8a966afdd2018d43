/** The kinds that the page caches. */
import { type Pod, pods } from '../../api/pod.ts'
import { defined } from '../../base/json.ts'
import { readPodUse } from '../../core/volume-manager/pod-use.ts'
import type { WorkloadKinds } from '../../core/workload-kinds/kinds.ts'
import { type AnyCachedKind, kindKey } from '../../store/any-kind.ts'
import { bindingKinds } from '../../store/kinds/bindings.ts'
import { injectionKinds } from '../../store/kinds/volumes.ts'
import { withWholePolicies } from '../check/hub/read-hub.ts'
import { workloadExplainer } from '../explain/workload.ts'
import { statusKinds } from '../status/cached-kinds.ts'

/**
 * The kinds of all tables, explanations and questions. Explanations read more fields of a kind than tables, and suppositions those of every
 * binding: 33 MiB more for 100,000 of them. Pods are read one by one.
 */
export function pageKinds(workloads: WorkloadKinds): AnyCachedKind[] {
  const byKey = new Map<string, AnyCachedKind>()
  for (const kind of [...statusKinds.map(withUse), ...bindingKinds, ...workloadExplainer.reads(workloads)]) {
    byKey.set(kindKey(kind.type), { ...withWholePolicies(kind), optional: true })
  }
  return [...byKey.values()]
}

/** Adds to pods the data that they mount, by which the pods of a replica are found. */
function withUse(kind: AnyCachedKind): AnyCachedKind {
  const complete = kind.type.kind === pods.kind && injectionKinds.find(({ type }) => type.kind === pods.kind)
  if (!complete) return kind
  const { directory, claim } = complete.indexes
  const keep = (raw: Pod) => ({ ...kind.keep(raw as never), ...defined({ use: readPodUse(raw) }) })
  return { ...kind, keep, indexes: { ...kind.indexes, ...defined({ directory, claim }) } }
}
