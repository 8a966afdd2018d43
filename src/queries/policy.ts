/** Collects from a store's memory the input of the decision on a policy: the data-bound workload that it selects, if any. */
import { dataSourceClaims, type WorkloadReference } from '../api/data-source-claim.ts'
import {
  clusterPropagationPolicies,
  type PropagationPolicy,
  propagationPolicies,
  type ResourceBinding,
} from '../api/karmada.ts'
import { groupOf, type K8sObject, keyOfObject, objectKey, type ResourceType, referenceOf } from '../api/meta.ts'
import { workloadKey } from '../core/data-source-claim/keys.ts'
import type { Workload } from '../core/dependencies/workload.ts'
import {
  type DataBound,
  isUndecided,
  type PolicyInput,
  type PropagateDepsMode,
} from '../core/propagation-policy/decide.ts'
import { candidateCount, selectableKeys, selectorKeys, selects } from '../core/propagation-policy/select.ts'
import { policyReferenceOf } from '../core/resource-binding/policy.ts'
import type { ObjectStore } from '../store/store.ts'
import { type ClusterScope, workloadsFor } from './permission.ts'
import { bindingsOfWorkload } from './workload.ts'

/**
 * The index that makes a cached kind one of workloads: those whose pod templates name volumes, by `selectableKeys`. Where a store caches
 * no workloads, they are known by claims and bindings only.
 */
const WORKLOADS = 'dataBound'

/** Collects from memory the input of the decision on a policy; the loop uses it as well. */
export function gatherPolicyInput(
  policy: PropagationPolicy,
  stored: PropagationPolicy | undefined,
  mode: PropagateDepsMode,
  store: ObjectStore,
  scope?: ClusterScope,
): PolicyInput {
  // Most policies are decided already: for those nothing is looked for.
  const isOpen = mode === 'dataBound' && isUndecided(policy)
  const found = isOpen ? dataBoundOf(policy, store, scope) : undefined
  return found === 'TooLarge'
    ? { policy, stored, mode, dataBound: undefined, isTooLarge: true }
    : { policy, stored, mode, dataBound: found }
}

/** The policies that select a workload, as far as that is known now. Where only its binding can tell, the binding is a change of its own. */
export function policiesSelecting(workload: WorkloadReference, store: ObjectStore): PropagationPolicy[] {
  return policiesAround(workload, store).filter((policy) => isSelected(workload, policy, store))
}

function policiesAround(workload: WorkloadReference, store: ObjectStore): PropagationPolicy[] {
  return selectableKeys(workload).flatMap((key) =>
    [propagationPolicies, clusterPropagationPolicies].flatMap((type) => store.byIndex(type, 'selects', key)),
  )
}

/** Whether a policy selects an object, whatever its kind. */
export function isPropagated(object: K8sObject, store: ObjectStore): boolean {
  const reference = referenceOf(object)
  return policiesAround(reference, store).some((policy) => selects(policy, reference, object.metadata.labels ?? {}))
}

/** Whether a claim names the workload. */
export function isClaimed(workload: WorkloadReference, store: ObjectStore): boolean {
  return store
    .byIndex(dataSourceClaims, 'workload', workloadKey(workload))
    .some(({ metadata }) => metadata.deletionTimestamp === undefined)
}

/** Comparisons of a workload with a selector, until a policy is too large to tell whether it selects a data-bound one: some 20 ms. */
const MAX_COMPARISONS = 100_000

/** Any one is enough, so the first that is found is it. */
function dataBoundOf(
  policy: PropagationPolicy,
  store: ObjectStore,
  scope: ClusterScope,
): DataBound | 'TooLarge' | undefined {
  let compared = 0
  for (const key of selectorKeys(policy)) {
    for (const claim of store.byIndex(dataSourceClaims, 'selectable', key)) {
      if (claim.metadata.deletionTimestamp !== undefined) continue
      const workloads = workloadsFor(claim, store, scope)
      compared += workloads.reduce((sum, each) => sum + candidateCount(policy, each), 0)
      if (compared > MAX_COMPARISONS) return 'TooLarge'
      const workload = workloads.find((each) => isSelected(each, policy, store))
      if (workload) {
        return { workload: titleOf(workload), claim: keyOfObject(claim) }
      }
    }
    for (const object of withVolumes(key, store)) {
      const workload = referenceOf(object)
      compared += candidateCount(policy, workload)
      if (compared > MAX_COMPARISONS) return 'TooLarge'
      if (selects(policy, workload, object.metadata.labels ?? {})) return { workload: titleOf(workload) }
    }
  }
  return undefined
}

/** By its selectors; where those ask for labels that are not known, by the binding that Karmada made of it. */
function isSelected(workload: WorkloadReference, policy: PropagationPolicy, store: ObjectStore): boolean {
  return (
    selects(policy, workload, labelsOf(workload, store)) ??
    bindingsOfWorkload(workload, store).some((binding) => governs(policy, binding))
  )
}

function withVolumes(key: string, store: ObjectStore): readonly Workload[] {
  return workloadTypes(store).flatMap((type) => store.byIndex(type, WORKLOADS, key))
}

/** Undefined where the workload's kind is not cached, or it is not there yet. */
function labelsOf({ apiVersion, kind, namespace, name }: WorkloadReference, store: ObjectStore) {
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

function titleOf({ kind, namespace, name }: WorkloadReference): string {
  return `${kind} ${objectKey(namespace, name)}`
}
