/** The loop of bindings: repeats the decision of admission after a change of its inputs, and repairs bindings that admission missed. */
import { dataSources } from '../../api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims } from '../../api/data-source-claim.ts'
import { type Cluster, clusters, isBinding, isPolicy, type ResourceBinding } from '../../api/karmada.ts'
import { keyOfObject, splitObjectKey } from '../../api/meta.ts'
import { jsonEqual } from '../../base/json.ts'
import { workloadKey } from '../../core/data-source-claim/keys.ts'
import { ANY_CLUSTER, hasOurAnnotations } from '../../core/resource-binding/annotations.ts'
import { type BindingPlanInput, planBinding } from '../../core/resource-binding/plan.ts'
import { detachedFrom } from '../../queries/attached.ts'
import { gatherBindingInput, isOrphanedNow, withCurrentPolicy } from '../../queries/binding.ts'
import { claimsFor, claimsRegranted } from '../../queries/permission.ts'
import { claimsConcerned } from '../../queries/source.ts'
import { bindingsByVolume, locateVolumes } from '../../queries/volume-locations.ts'
import { allBindings, bindingNamed, bindingsByIndex, bindingsOfClaim } from '../../queries/workload.ts'
import type { ObjectStore, StoreChange } from '../../store/store.ts'
import { applyPlan } from '../apply.ts'
import type { ReconcileContext, ReconcileLoop } from '../define.ts'
import { bindingContextOf } from '../present.ts'

export const resourceBindingLoop: ReconcileLoop = {
  name: 'resource-binding',
  concurrency: 32,
  awaitsWebhooks: true,
  keysForChange(change, store) {
    const { type, before, after } = change
    const objects = [before, after].filter((object) => object !== undefined)
    const regranted = claimsRegranted(change, store)
    if (regranted.length > 0) return regranted.flatMap((claim) => bindingsOfClaim(claim, store)).map(keyOfObject)
    if (type.kind === dataSourceClaims.kind)
      return objects.flatMap((claim) => bindingsOfClaim(claim as DataSourceClaim, store)).map(keyOfObject)
    if (type.kind === dataSources.kind) return bindingKeys(claimsConcerned(change, store), store)
    // A policy that no longer requires a claim releases the bindings that are on hold for ClaimMissing.
    if (isPolicy(type.kind))
      return objects.flatMap((policy) => bindingsByIndex('onHoldByPolicy', keyOfObject(policy), store)).map(keyOfObject)
    const byVolume = bindingsByVolume(change, store).map(keyOfObject)
    if (isBinding(type.kind)) {
      const [was, is] = [before, after] as (ResourceBinding | undefined)[]
      const own = is && concernsUs(is, store) ? [keyOfObject(is)] : []
      return [...own, ...detachedFrom(was, is), ...byVolume]
    }
    if (isFleetChange(change)) return [...bindingsByIndex('waiting', ANY_CLUSTER, store).map(keyOfObject), ...byVolume]
    return byVolume
  },
  *allKeys(store) {
    for (const binding of allBindings(store)) yield concernsUs(binding, store) ? keyOfObject(binding) : undefined
  },
  async reconcile(key, context) {
    const { store, moves, observer } = context
    const binding = bindingNamed(splitObjectKey(key), store)
    if (!binding) {
      moves.withdraw(key)
      return undefined
    }
    let input = gather(binding, context)
    let plan = planBinding(input)
    // Such a workload would take a turn of another one again and again.
    if (plan.moves && isSaidOrphaned(input) && (await isOrphanedNow(binding, store))) {
      input = { ...input, isOrphaned: true }
      plan = planBinding(input)
    }
    // The whole plan waits, since the rate of moves is a limit of this process and not of the binding.
    let waitMs = plan.moves ? moves.take(key) : 0
    if (waitMs === 0 && plan.needsPolicy) {
      input = await withCurrentPolicy(input, store)
      const current = planBinding(input)
      if (current.moves && !plan.moves) waitMs = moves.take(key)
      plan = current
    }
    if (waitMs > 0) {
      observer.moveDelayed?.()
      return waitMs
    }
    moves.withdraw(key)
    if ((plan.moves || plan.needsOwner) && (await isOrphanedNow(binding, store))) {
      plan = planBinding({ ...input, isOrphaned: true })
    }
    await applyPlan(context, plan)
    if (plan.moves) observer.moved()
    if (plan.notHonored) observer.holdNotHonored?.(key, plan.notHonored)
    return plan.requeueAfterMs
  },
}

/** Whether the stored decision is that of an orphaned workload. */
function isSaidOrphaned(input: BindingPlanInput): boolean {
  return planBinding({ ...input, isOrphaned: true }).actions.length === 0
}

function gather(binding: ResourceBinding, context: ReconcileContext): BindingPlanInput {
  const { store, clusterScopedClaims } = context
  const input = gatherBindingInput(binding, binding, bindingContextOf(context))
  return { ...input, claimObjects: claimsFor(binding.spec.resource, store, clusterScopedClaims) }
}

/** Yields the keys of the bindings of claims, one by one: popular data can have a hundred thousand. */
function* bindingKeys(claims: Iterable<DataSourceClaim>, store: ObjectStore): Generator<string, void, undefined> {
  for (const claim of claims) {
    for (const binding of bindingsOfClaim(claim, store)) yield keyOfObject(binding)
  }
}

/** Whether a Cluster changed for the scheduler. The version of one changes with every heartbeat. */
function isFleetChange({ type, before, after }: StoreChange): boolean {
  const read = (cluster: Cluster | undefined) =>
    cluster && [cluster.spec, cluster.status, cluster.metadata.labels, cluster.metadata.deletionTimestamp]
  return (
    type.kind === clusters.kind && !jsonEqual(read(before as Cluster | undefined), read(after as Cluster | undefined))
  )
}

/** Whether a binding has a claim, a volume or an annotation of Lodestone; most have none. */
function concernsUs(binding: ResourceBinding, store: ObjectStore): boolean {
  return (
    hasOurAnnotations(binding.metadata.annotations) ||
    store.byIndex(dataSourceClaims, 'workload', workloadKey(binding.spec.resource)).length > 0 ||
    locateVolumes(binding, store).length > 0
  )
}
