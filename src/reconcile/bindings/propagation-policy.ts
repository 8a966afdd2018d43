/** The loop of policies: sets `propagateDeps` if the claim, the workload or its binding was created after the policy. */
import { type DataSourceClaim, dataSourceClaims } from '../../api/data-source-claim.ts'
import {
  clusterPropagationPolicies,
  isBinding,
  isPolicy,
  type PropagationPolicy,
  propagationPolicies,
  type ResourceBinding,
} from '../../api/karmada.ts'
import { keyOfObject, objectKey, referenceOf, splitObjectKey } from '../../api/meta.ts'
import { workloadsOfClaim } from '../../core/data-source-claim/keys.ts'
import type { Workload } from '../../core/dependencies/workload.ts'
import { jsonEqual } from '../../core/json.ts'
import { isUndecided, type PropagateDepsMode } from '../../core/propagation-policy/decide.ts'
import { planPolicy } from '../../core/propagation-policy/plan.ts'
import { policyReferenceOf } from '../../core/resource-binding/policy.ts'
import { policyNamed } from '../../queries/binding.ts'
import { claimsRegranted } from '../../queries/permission.ts'
import { gatherPolicyInput, isClaimed, policiesSelecting } from '../../queries/policy.ts'
import type { ObjectStore, StoreChange } from '../../store/store.ts'
import { applyPlan } from '../apply.ts'
import type { ReconcileLoop } from '../define.ts'

export function openPropagationPolicyLoop(mode: PropagateDepsMode): ReconcileLoop {
  return {
    name: 'propagation-policy',
    concurrency: 4,
    awaitsWebhooks: true,
    keysOf: (change, store) => (mode === 'never' ? [] : keysOf(change, store)),
    *allKeys(store) {
      if (mode === 'never') return
      for (const type of [propagationPolicies, clusterPropagationPolicies]) {
        for (const policy of store.list(type)) yield isUndecided(policy) ? keyOfObject(policy) : undefined
      }
    },
    async reconcile(key, { store, events, clusterScopedClaims }) {
      const policy = policyNamed(splitObjectKey(key), store)
      if (!policy || !isUndecided(policy)) return undefined
      await applyPlan(
        { store, events },
        planPolicy(gatherPolicyInput(policy, policy, mode, { store, clusterScopedClaims })),
      )
      return undefined
    },
  }
}

/** Returns the policies that a change concerns. A deleted object concerns none: Lodestone never removes `propagateDeps`. */
function keysOf(change: StoreChange, store: ObjectStore): string[] {
  const { type, before, after } = change
  if (!after) return []
  if (isPolicy(type.kind)) return isUndecided(after as PropagationPolicy) ? [keyOfObject(after)] : []
  if (type.kind === dataSourceClaims.kind) {
    return ofClaim(before as DataSourceClaim | undefined, after as DataSourceClaim, store)
  }
  if (isBinding(type.kind)) return ofBinding(before as ResourceBinding | undefined, after as ResourceBinding, store)
  const regranted = claimsRegranted(change, store)
  if (regranted.length > 0) return regranted.flatMap((claim) => ofClaim(undefined, claim, store))
  return 'dependencies' in after ? ofWorkload(before as Workload | undefined, after as Workload, store) : []
}

/** Only a new or changed workload reference is relevant; the status of a claim changes far more often. */
function ofClaim(before: DataSourceClaim | undefined, after: DataSourceClaim, store: ObjectStore): string[] {
  if (before && jsonEqual(before.spec.workload, after.spec.workload)) return []
  return workloadsOfClaim(after).flatMap((workload) =>
    policiesSelecting(workload, store).filter(isUndecided).map(keyOfObject),
  )
}

/** For a workload that is not cached, its binding shows which policy selects it. */
function ofBinding(before: ResourceBinding | undefined, after: ResourceBinding, store: ObjectStore): string[] {
  const policy = policyReferenceOf(after.metadata)
  if (!policy || (before && jsonEqual(policyReferenceOf(before.metadata), policy))) return []
  return isClaimed(after.spec.resource, store) ? [objectKey(policy.namespace, policy.name)] : []
}

function ofWorkload(before: Workload | undefined, after: Workload, store: ObjectStore): string[] {
  const { metadata, dependencies } = after
  const isSame =
    before &&
    jsonEqual(before.metadata.labels, metadata.labels) &&
    before.dependencies.volumeManagers.length > 0 === dependencies.volumeManagers.length > 0
  if (isSame) return []
  const workload = referenceOf(after)
  if (dependencies.volumeManagers.length === 0 && !isClaimed(workload, store)) return []
  return policiesSelecting(workload, store).filter(isUndecided).map(keyOfObject)
}
