/** The loop of policies: sets `propagateDeps` when a claim, workload or binding gives a reason, and removes it after the last one. */
import { type DataSourceClaim, dataSourceClaims } from '../../api/data-source-claim.ts'
import {
  clusterPropagationPolicies,
  isBinding,
  isPolicy,
  type PropagationPolicy,
  policyTypeIn,
  propagationPolicies,
  type ResourceBinding,
} from '../../api/karmada.ts'
import { keyOfObject, objectKey, referenceOf, splitObjectKey } from '../../api/meta.ts'
import { defined, jsonEqual } from '../../base/json.ts'
import { workloadsOfClaim } from '../../core/data-source-claim/keys.ts'
import type { Workload } from '../../core/dependencies/workload.ts'
import { isSetByUs, isUndecided, type PropagateDepsMode } from '../../core/propagation-policy/decide.ts'
import { type PolicyPlanInput, planPolicy } from '../../core/propagation-policy/plan.ts'
import { policyReferenceOf } from '../../core/resource-binding/policy.ts'
import { policyNamed } from '../../queries/binding.ts'
import { claimsRegranted } from '../../queries/permission.ts'
import {
  gatherPolicyInput,
  isClaimed,
  mayBeDataBound,
  policiesAround,
  policiesSelecting,
  propagatesVolumeClaims,
} from '../../queries/policy.ts'
import type { ObjectStore, StoreChange } from '../../store/store.ts'
import { applyPlan } from '../apply.ts'
import type { ReconcileContext, ReconcileLoop } from '../define.ts'
import { presentOf } from '../present.ts'
import { Waits } from '../waits.ts'

export function openPropagationPolicyLoop(mode: PropagateDepsMode): ReconcileLoop {
  /** Of policies without a reason for `propagateDeps`. A claim that is replaced is deleted first. */
  const waits = new Waits()

  /** Returns for how long a policy with our `propagateDeps` has had no reason for it, in ms; undefined for any other policy. */
  function observe(key: string, policy: PropagationPolicy | undefined, context: ReconcileContext): number | undefined {
    const isReleased = policy && isSetByUs(policy) && !mayBeDataBound(policy, mode, context)
    if (!isReleased || propagatesVolumeClaims(policy, context.store)) {
      waits.end(key)
      return undefined
    }
    return waits.waitedMs(key, presentOf(context))
  }

  return {
    name: 'propagation-policy',
    concurrency: 4,
    awaitsWebhooks: true,
    keysForChange: (change, store) => [
      ...(mode === 'never' ? [] : undecidedKeys(change, store)),
      ...releasedKeys(change, store),
    ],
    *allKeys(store) {
      for (const type of [propagationPolicies, clusterPropagationPolicies]) {
        for (const policy of store.list(type)) {
          yield isSetByUs(policy) || (mode !== 'never' && isUndecided(policy)) ? keyOfObject(policy) : undefined
        }
      }
    },
    async reconcile(key, context) {
      const policy = policyNamed(splitObjectKey(key), context.store)
      const unboundMs = observe(key, policy, context)
      if (!policy) return undefined
      const plan = planPolicy(await gather(policy, mode, unboundMs, context))
      await applyPlan(context, plan)
      return plan.requeueAfterMs
    },
  }
}

async function gather(
  policy: PropagationPolicy,
  mode: PropagateDepsMode,
  unboundMs: number | undefined,
  context: ReconcileContext,
): Promise<PolicyPlanInput> {
  const input = gatherPolicyInput(policy, policy, mode, context)
  if (unboundMs === undefined) return input
  const { store, timing } = context
  const waitMs = Math.max(0, timing.releaseDelayMs - unboundMs)
  if (waitMs > 0) return { ...input, release: { waitMs } }
  const { namespace, name = '' } = policy.metadata
  // The cache does not have all fields.
  const current = await store.read(policyTypeIn(namespace), namespace, name)
  return { ...input, release: { waitMs, ...defined({ current }) } }
}

/** Returns the policies that an object concerned before a change: it may have been the last reason for `propagateDeps`. */
function releasedKeys(change: StoreChange, store: ObjectStore): string[] {
  const { type, before, after } = change
  if (isPolicy(type.kind)) return after && isSetByUs(after as PropagationPolicy) ? [keyOfObject(after)] : []
  const claims = [
    ...(type.kind === dataSourceClaims.kind && before ? [before as DataSourceClaim] : []),
    ...claimsRegranted(change, store),
  ]
  const isWorkload = before !== undefined && (before as Partial<Workload>).dependencies?.volumeManagers.length
  const workloads = [...claims.flatMap(workloadsOfClaim), ...(isWorkload ? [referenceOf(before)] : [])]
  return workloads.flatMap((workload) => policiesAround(workload, store).filter(isSetByUs).map(keyOfObject))
}

/** Returns the policies that a change concerns because it may be a reason for `propagateDeps`. A deleted object concerns none. */
function undecidedKeys(change: StoreChange, store: ObjectStore): string[] {
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
