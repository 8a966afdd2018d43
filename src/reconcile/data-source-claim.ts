/** The loop of claims: a status that says how things stand, and a clean leave. */
import { type DataSource, dataSources } from '../api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims } from '../api/data-source-claim.ts'
import { isBinding, type ResourceBinding } from '../api/karmada.ts'
import { objectKey } from '../api/meta.ts'
import { sourceName } from '../core/data-source/name.ts'
import { questionOfClaim, workloadKey, workloadsOfClaim } from '../core/data-source-claim/keys.ts'
import { planClaim } from '../core/data-source-claim/plan.ts'
import { bindingsOfWorkload, claimsOfSource, sourceOf } from '../store/gather-binding.ts'
import type { ObjectStore } from '../store/store.ts'
import { applyPlan } from './apply.ts'
import type { ReconcileLoop } from './define.ts'

export const dataSourceClaimLoop: ReconcileLoop = {
  name: 'data-source-claim',
  // Few at once: loops that compete share the write limit by how many they run, and a workload is more urgent than a status.
  concurrency: 4,
  keysOf: ({ type, before, after }, store) => {
    const objects = [before, after].filter((object) => object !== undefined)
    if (type.kind === dataSourceClaims.kind)
      return objects.map(({ metadata }) => objectKey(metadata.namespace, metadata.name ?? ''))
    if (type.kind === dataSources.kind)
      return objects.flatMap((source) => claimsOfSource(source as DataSource, store)).map(keyOf)
    // A claim that is being deleted waits until the last binding is restored.
    if (isBinding(type.kind)) {
      return objects.flatMap((binding) => leaving(binding as ResourceBinding, store)).map(keyOf)
    }
    return []
  },
  allKeys: (store) => [...store.list(dataSourceClaims)].map(keyOf),
  async reconcile(key, { store, events, systems, now }) {
    const [namespace, name] = key.split('/') as [string, string]
    const claim = store.get(dataSourceClaims, namespace, name)
    if (!claim) return undefined
    const source = sourceOf(claim, store)
    const plan = planClaim({
      claim,
      source,
      systemKnown: systems.get(claim.spec.system) !== undefined,
      nameTaken: !source && isNameTaken(claim, store),
      bindings: bindingsOf(claim, store),
      now: now(),
    })
    await applyPlan({ store, events }, plan)
    return plan.requeueAfterMs
  },
}

function keyOf({ metadata }: DataSourceClaim): string {
  return objectKey(metadata.namespace, metadata.name ?? '')
}

function leaving({ spec }: ResourceBinding, store: ObjectStore): DataSourceClaim[] {
  return store
    .byIndex(dataSourceClaims, 'workload', workloadKey(spec.resource))
    .filter(({ metadata }) => metadata.deletionTimestamp)
}

/** Whether the name that this question's source would have belongs to a source of another question. */
function isNameTaken(claim: DataSourceClaim, store: ObjectStore): boolean {
  return store.get(dataSources, undefined, sourceName(questionOfClaim(claim))) !== undefined
}

/** The bindings of the workloads that a claim may mean. */
export function bindingsOf(claim: DataSourceClaim, store: ObjectStore): ResourceBinding[] {
  return workloadsOfClaim(claim).flatMap((workload) => bindingsOfWorkload(workload, store))
}
