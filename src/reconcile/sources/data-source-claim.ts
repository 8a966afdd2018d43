/** The loop of DataSourceClaims: writes their status, and removes the finalizer of deleted claims. */
import { type DataSource, dataSources } from '../../api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims } from '../../api/data-source-claim.ts'
import { isBinding, type ResourceBinding } from '../../api/karmada.ts'
import { CLAIM_FINALIZER } from '../../api/lodestone.ts'
import { keyOfObject, splitObjectKey } from '../../api/meta.ts'
import { queryOfClaim, workloadKey } from '../../core/data-source-claim/keys.ts'
import { planClaim } from '../../core/data-source-claim/plan.ts'
import { claimsRegranted, refusalOfClaim } from '../../queries/permission.ts'
import { claimSource, claimsConcerned, nameOfSource } from '../../queries/source.ts'
import { bindingsOfClaim } from '../../queries/workload.ts'
import type { ObjectStore } from '../../store/store.ts'
import { applyPlan } from '../apply.ts'
import type { ReconcileLoop } from '../define.ts'
import { reconcileUnavailable } from './deleted-definition.ts'

export const dataSourceClaimLoop: ReconcileLoop = {
  name: 'data-source-claim',
  concurrency: 4,
  // The loops share the write limit and the API server in proportion to their runs. Workloads wait for bindings, not for the status of claims.
  defersTo: 'resource-binding',
  // A source is created and answered, and a binding is narrowed and scheduled, within this time: one status tells of all of it.
  settleMs: 100,
  keysForChange(change, store) {
    const { type, before, after } = change
    const objects = [before, after].filter((object) => object !== undefined)
    if (type.kind === dataSourceClaims.kind) return objects.map(keyOfObject)
    if (type.kind === dataSources.kind) return [...claimsConcerned(change, store)].map(keyOfObject)
    if (isBinding(type.kind))
      return objects.flatMap((binding) => claimsOfBinding(binding as ResourceBinding, store)).map(keyOfObject)
    return claimsRegranted(change, store).map(keyOfObject)
  },
  *keysForSystems(systems, store) {
    for (const claim of store.list(dataSourceClaims)) if (systems.has(claim.spec.system)) yield keyOfObject(claim)
  },
  allKeys: (store) => [...store.list(dataSourceClaims)].map(keyOfObject),
  async reconcile(key, { store, events, systems, clusterScopedClaims, now }) {
    const { namespace, name } = splitObjectKey(key)
    const claim = store.get(dataSourceClaims, namespace, name)
    if (!claim) return undefined
    const writers = { store, events }
    const unavailable = await reconcileUnavailable(dataSourceClaims, { namespace, name }, CLAIM_FINALIZER, writers)
    if (unavailable) return unavailable.requeueAfterMs
    const refusal = refusalOfClaim(claim, store, clusterScopedClaims)
    const source = claimSource(claim, store)
    const plan = planClaim({
      claim,
      refusal,
      source,
      systemKnown: systems.get(claim.spec.system) !== undefined,
      nameHolder: source ? undefined : nameHolder(claim, store),
      bindings: bindingsOfClaim(claim, store),
      readsBindings: store.typesWithIndex('workload').some(({ kind }) => isBinding(kind)),
      now: now(),
    })
    await applyPlan(writers, plan)
    return plan.requeueAfterMs
  },
}

/** Returns the claims of a workload: their status says where it is placed, and a deleted claim waits until it is restored. */
function claimsOfBinding({ spec }: ResourceBinding, store: ObjectStore): readonly DataSourceClaim[] {
  return store.byIndex(dataSourceClaims, 'workload', workloadKey(spec.resource))
}

/** Returns the DataSource that has the name for this claim's query but describes different data, if one exists. */
function nameHolder(claim: DataSourceClaim, store: ObjectStore): DataSource | undefined {
  return store.get(dataSources, undefined, nameOfSource(queryOfClaim(claim)))
}
