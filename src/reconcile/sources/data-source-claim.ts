/** The loop of DataSourceClaims: writes their status, and removes the finalizer of deleted claims. */
import { type DataSource, dataSources } from '../../api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims } from '../../api/data-source-claim.ts'
import { isBinding, type ResourceBinding } from '../../api/karmada.ts'
import { CLAIM_FINALIZER } from '../../api/lodestone.ts'
import { keyOfObject, splitObjectKey } from '../../api/meta.ts'
import { droppedFields } from '../../core/data-source-claim/dropped-fields.ts'
import { queryOfClaim, workloadKey } from '../../core/data-source-claim/keys.ts'
import { type ClaimPlanInput, planClaim, planReadAgain } from '../../core/data-source-claim/plan.ts'
import type { Plan } from '../../core/plan.ts'
import { claimsRegranted, refusalOfClaim } from '../../queries/permission.ts'
import { claimSource, claimsConcerned, nameOfSource } from '../../queries/source.ts'
import { bindingsOfClaim } from '../../queries/workload.ts'
import type { ObjectStore } from '../../store/store.ts'
import { applyPlan } from '../apply.ts'
import type { ReconcileLoop } from '../define.ts'
import { reconcileUnavailable } from './deleted-definition.ts'

/** Opens the loop with its own memory. */
export function openDataSourceClaimLoop(): ReconcileLoop {
  /** The cached claims whose fields the API server drops, and that have had an Event of it. */
  const warned = new WeakSet<DataSourceClaim>()
  return {
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
      const input: ClaimPlanInput = {
        claim,
        refusal,
        source,
        systemKnown: systems.get(claim.spec.system) !== undefined,
        nameHolder: source ? undefined : nameHolder(claim, store),
        bindings: bindingsOfClaim(claim, store),
        readsBindings: store.typesWithIndex('workload').some(({ kind }) => isBinding(kind)),
        now: now(),
      }
      const plan = await withoutLoss(planClaim(input), input, store, warned)
      await applyPlan(writers, plan)
      return plan.requeueAfterMs
    },
  }
}

/**
 * Changes the plan of a claim if its CRD was replaced since the claim was cached. A watch goes on then without the claims that do not change. The read
 * before each write is cheap: few claims have a policy, and their status seldom changes.
 *
 * @param warned a cached claim gets its Event once, and is added to it
 */
async function withoutLoss(
  plan: Plan,
  input: ClaimPlanInput,
  store: ObjectStore,
  warned: WeakSet<DataSourceClaim>,
): Promise<Plan> {
  const { claim } = input
  const { namespace, name = '', deletionTimestamp } = claim.metadata
  const isWritten = plan.actions.some(({ kind }) => kind === 'patch')
  const isAtRisk = claim.dropped !== undefined || (claim.spec.policy !== undefined && isWritten)
  if (!isAtRisk || deletionTimestamp !== undefined) return plan
  const current = await store.read(dataSourceClaims, namespace, name)
  const dropped = current ? droppedFields(current) : []
  if (dropped.length === 0) return claim.dropped && current ? planReadAgain(current) : plan
  const { actions, ...rest } = planClaim({ ...input, claim: { ...claim, dropped } })
  const isNew = !warned.has(claim)
  warned.add(claim)
  return { ...rest, actions: isNew ? actions : [] }
}

/** Returns the claims of a workload: their status says where it is placed, and a deleted claim waits until it is restored. */
function claimsOfBinding({ spec }: ResourceBinding, store: ObjectStore): readonly DataSourceClaim[] {
  return store.byIndex(dataSourceClaims, 'workload', workloadKey(spec.resource))
}

/** Returns the DataSource that has the name for this claim's query but describes different data, if one exists. */
function nameHolder(claim: DataSourceClaim, store: ObjectStore): DataSource | undefined {
  return store.get(dataSources, undefined, nameOfSource(queryOfClaim(claim)))
}
