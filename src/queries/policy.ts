/** Gathers the input of the decision on a policy from the cache: the data-bound workload that it selects, if any. */
import { dataSourceClaims, type WorkloadReference } from '../api/data-source-claim.ts'
import {
  clusterPropagationPolicies,
  type PropagationPolicy,
  propagationPolicies,
  type ResourceBinding,
} from '../api/karmada.ts'
import { groupOf, type K8sObject, keyOfObject, type ResourceType, referenceOf, referenceTitle } from '../api/meta.ts'
import { workloadKey } from '../core/data-source-claim/keys.ts'
import type { Workload } from '../core/dependencies/workload.ts'
import {
  type DataBound,
  isUndecided,
  type PolicyInput,
  type PropagateDepsMode,
} from '../core/propagation-policy/decide.ts'
import { candidateCount, kindOfKey, selectableKeys, selectorKeys, selects } from '../core/propagation-policy/select.ts'
import { selectPolicy } from '../core/resource-binding/derive.ts'
import { policyReferenceOf } from '../core/resource-binding/policy.ts'
import type { ObjectStore } from '../store/store.ts'
import { bindingsWithVolumeClaims } from './attached.ts'
import { type ClusterScope, workloadsFor } from './permission.ts'
import { bindingsOfWorkload } from './workload.ts'

/**
 * The index of all cached kinds of workloads: it has those whose pod templates name volumes, by `selectableKeys`. If a store caches no
 * workloads, only claims and bindings are used.
 */
const WORKLOADS = 'dataBound'

/** Gathers the input of the decision on a policy, for admission and the loop. */
export function gatherPolicyInput(
  policy: PropagationPolicy,
  stored: PropagationPolicy | undefined,
  mode: PropagateDepsMode,
  { store, clusterScopedClaims }: { store: ObjectStore; clusterScopedClaims?: ClusterScope },
): PolicyInput {
  // Most policies are decided already and need no search.
  const isOpen = mode === 'dataBound' && isUndecided(policy)
  const found = isOpen ? findDataBound(policy, store, clusterScopedClaims) : undefined
  return found === 'TooLarge'
    ? { policy, stored, mode, dataBound: undefined, isTooLarge: true }
    : { policy, stored, mode, dataBound: found }
}

/**
 * Returns the known policies that select a workload. If only its binding shows the policy, the creation of the binding triggers the loop.
 */
export function policiesSelecting(workload: WorkloadReference, store: ObjectStore): PropagationPolicy[] {
  return policiesAround(workload, store).filter((policy) => isSelected(workload, policy, store))
}

/** Returns the known policies that may select a workload, by name, kind or labels. */
export function policiesAround(workload: WorkloadReference, store: ObjectStore): PropagationPolicy[] {
  return selectableKeys(workload).flatMap((key) =>
    [propagationPolicies, clusterPropagationPolicies].flatMap((type) => store.byIndex(type, 'selects', key)),
  )
}

/**
 * Returns the policy that Karmada's detector applies to an object that has none, among those that are candidates (default: all). It ignores policies
 * that are being deleted.
 */
export function matchedPolicy(
  template: K8sObject,
  store: ObjectStore,
  isCandidate: (policy: PropagationPolicy) => boolean = () => true,
): PropagationPolicy | undefined {
  const around = policiesAround(referenceOf(template), store).filter(
    (policy) => policy.metadata.deletionTimestamp === undefined && isCandidate(policy),
  )
  const [namespaced, clusterScoped] = [propagationPolicies, clusterPropagationPolicies].map(({ kind }) =>
    around.filter((policy) => policy.kind === kind),
  )
  return selectPolicy(template, namespaced ?? [], clusterScoped ?? [])
}

/** Whether a policy selects an object of any kind. */
export function isPropagated(object: K8sObject, store: ObjectStore): boolean {
  const reference = referenceOf(object)
  return policiesAround(reference, store).some((policy) => selects(policy, reference, object.metadata.labels ?? {}))
}

/**
 * Whether a policy has a reason for `propagateDeps`, or may have one that is not known. Claims and workloads that cannot be read may exist.
 */
export function mayBeDataBound(
  policy: PropagationPolicy,
  mode: PropagateDepsMode,
  { store, clusterScopedClaims }: { store: ObjectStore; clusterScopedClaims?: ClusterScope },
): boolean {
  if (mode !== 'dataBound') return mode === 'always'
  const reasons = [dataSourceClaims, ...workloadTypes(store)].map(({ kind }) => kind)
  const isUnknown = store.unavailable().some(({ type }) => reasons.includes(type.kind))
  return isUnknown || findDataBound(policy, store, clusterScopedClaims) !== undefined
}

/**
 * Whether a PersistentVolumeClaim follows a workload of a policy. Without `propagateDeps`, Karmada would delete the claim in members, and what
 * the workload has stored. A PropagationPolicy selects workloads of its namespace only.
 */
export function propagatesVolumeClaims(policy: PropagationPolicy, store: ObjectStore): boolean {
  for (const binding of bindingsWithVolumeClaims(store, policy.metadata.namespace))
    if (governs(policy, binding)) return true
  return false
}

/** Whether a claim names the workload. */
export function isClaimed(workload: WorkloadReference, store: ObjectStore): boolean {
  return store
    .byIndex(dataSourceClaims, 'workload', workloadKey(workload))
    .some(({ metadata }) => metadata.deletionTimestamp === undefined)
}

/** The maximum number of comparisons of a workload with a selector (about 20 ms). A policy that needs more counts as too large. */
const MAX_COMPARISONS = 100_000

/** Returns the first data-bound workload: any one is enough. */
function findDataBound(
  policy: PropagationPolicy,
  store: ObjectStore,
  scope: ClusterScope,
): DataBound | 'TooLarge' | undefined {
  let compared = 0
  // A key finds workloads of one kind. A policy may have 12,000 keys, and a store dozens of kinds.
  const types = new Map(workloadTypes(store).map((type) => [`${type.group}/${type.kind}`, type]))
  for (const key of selectorKeys(policy)) {
    const found = findClaimed(key) ?? findWithVolumes(key)
    if (found) return found
  }
  return undefined

  function findClaimed(key: string): DataBound | 'TooLarge' | undefined {
    for (const claim of store.byIndex(dataSourceClaims, 'selectable', key)) {
      if (claim.metadata.deletionTimestamp !== undefined) continue
      const workloads = workloadsFor(claim, store, scope)
      compared += workloads.reduce((sum, each) => sum + candidateCount(policy, each), 0)
      if (compared > MAX_COMPARISONS) return 'TooLarge'
      const workload = workloads.find((each) => isSelected(each, policy, store))
      if (workload) return { workload: referenceTitle(workload), claim: keyOfObject(claim) }
    }
    return undefined
  }

  function findWithVolumes(key: string): DataBound | 'TooLarge' | undefined {
    const type = types.get(kindOfKey(key))
    for (const object of type ? store.byIndex(type, WORKLOADS, key) : []) {
      const workload = referenceOf(object)
      compared += candidateCount(policy, workload)
      if (compared > MAX_COMPARISONS) return 'TooLarge'
      if (selects(policy, workload, object.metadata.labels ?? {})) return { workload: referenceTitle(workload) }
    }
    return undefined
  }
}

/** Whether a policy selects a workload: by its selectors, or by the workload's binding if its labels are unknown. */
function isSelected(workload: WorkloadReference, policy: PropagationPolicy, store: ObjectStore): boolean {
  return (
    selects(policy, workload, workloadLabels(workload, store)) ??
    bindingsOfWorkload(workload, store).some((binding) => governs(policy, binding))
  )
}

/** Returns the labels of a workload; undefined if it is not cached. */
export function workloadLabels(
  { apiVersion, kind, namespace, name }: WorkloadReference,
  store: ObjectStore,
): Record<string, string> | undefined {
  const type = workloadTypes(store).find((each) => each.kind === kind && each.group === groupOf(apiVersion))
  const workload = type && store.get(type, namespace, name)
  return workload && (workload.metadata.labels ?? {})
}

function workloadTypes(store: ObjectStore): readonly ResourceType<Workload>[] {
  return store.typesWithIndex(WORKLOADS) as readonly ResourceType<Workload>[]
}

function governs({ metadata }: PropagationPolicy, binding: ResourceBinding): boolean {
  const reference = policyReferenceOf(binding.metadata)
  return reference?.name === metadata.name && (reference?.namespace ?? '') === (metadata.namespace ?? '')
}
