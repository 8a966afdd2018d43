/** Writes a changed policy, or the replicas of a workload, into a binding, as Karmada's detector does. */
import {
  APPLIED_PLACEMENT_ANNOTATION,
  CLUSTER_POLICY_NAME_ANNOTATION,
  isPolicy,
  POLICY_NAME_ANNOTATION,
  POLICY_NAMESPACE_ANNOTATION,
  type PropagationPolicy,
  type ResourceBinding,
} from '../../api/karmada.ts'
import { type K8sObject, keyOfObject } from '../../api/meta.ts'
import { defined, jsonEqual } from '../../base/json.ts'
import { isScaledToZero } from '../../core/placement/binding-state.ts'
import { comparePreemptors, priorityOf, takesOver } from '../../core/propagation-policy/preemption.ts'
import { selects } from '../../core/propagation-policy/select.ts'
import { policyAnnotations, policyFields, withPolicyFields } from '../../core/resource-binding/derive.ts'
import { isLazy } from '../../core/resource-binding/input.ts'
import { policyReferenceOf } from '../../core/resource-binding/policy.ts'
import type { ObjectStore, StoreChange } from '../../store/store.ts'
import { bindingPolicy } from '../binding.ts'
import { matchedPolicy, policiesAround, workloadLabels } from '../policy.ts'
import type { World } from './world.ts'

/** The scheduler applies a new placement, so the one that it applied before does not count any more. */
const REPLACED_ANNOTATIONS = [
  POLICY_NAMESPACE_ANNOTATION,
  POLICY_NAME_ANNOTATION,
  CLUSTER_POLICY_NAME_ANNOTATION,
  APPLIED_PLACEMENT_ANNOTATION,
]

/** Returns the binding as the detector writes it: the same one if nothing changes. */
export function detect(binding: ResourceBinding, world: World): ResourceBinding {
  const detected = detectPolicy(binding, world)
  const replicas = world.written.get(keyOfObject(binding)) ?? 0
  if (replicas === 0 || !isScaledToZero(binding.spec)) return detected
  return { ...detected, spec: { ...detected.spec, replicas } }
}

/**
 * Returns the binding with the new placement of its policy, or with the policy that takes the workload over. If its policy selects the workload no
 * more, it gets the next policy that does; without one it keeps its placement. A lazy policy waits for a change of the workload. Returns the same
 * binding if nothing changes.
 */
function detectPolicy(binding: ResourceBinding, world: World): ResourceBinding {
  const { store, changes, written } = world
  const changed = changes.filter(({ type }) => isPolicy(type.kind))
  const isWritten = written.has(keyOfObject(binding))
  if (changed.length === 0 && !isWritten) return binding
  const { resource } = binding.spec
  const policy = bindingPolicy(binding, store) ?? lazyClaimant(binding, world)
  const change = changed.find(({ after }) => after !== undefined && after === policy)
  const before = change?.before as PropagationPolicy | undefined
  const isSelected = policy && selects(policy, resource, workloadLabels(resource, store)) !== false
  // The detector looks for such workloads when the policy changes. Until then, a workload that got other labels keeps its policy, which does not apply.
  const isLeft = isSelected === false && before !== undefined && !jsonEqual(before.spec, policy?.spec)
  if (policy && !isLeft) {
    const next = preemptingPolicy(binding, policy, { store, changed, before })
    if (next) return isLazy(next) ? binding : withPolicy(binding, next)
    const applies = isLazy(policy)
      ? isWritten && !isAppliedTo(binding, policy)
      : change && !jsonEqual(before && policyFields(before), policyFields(policy))
    return isSelected && applies ? withPolicy(binding, policy) : binding
  }
  if (!isLeft && !isWithoutPolicy(binding, changed)) return binding
  const next = nextPolicy(binding, store)
  return withPolicy(binding, next && isLazy(next) && !isWritten ? undefined : next)
}

function isAppliedTo(binding: ResourceBinding, policy: PropagationPolicy): boolean {
  return policyReferenceOf(binding.metadata) !== undefined && jsonEqual(policyFields(binding), policyFields(policy))
}

/**
 * Returns the changed policy that takes a workload over; undefined if none does. If the priority of its own policy was lowered, another policy that
 * did not change may do so (v1.18.1, pkg/detector/preemption.go, HandleDeprioritizedPropagationPolicy).
 */
function preemptingPolicy(
  { spec: { resource } }: ResourceBinding,
  own: PropagationPolicy,
  {
    store,
    changed,
    before,
  }: { store: ObjectStore; changed: readonly StoreChange[]; before: PropagationPolicy | undefined },
): PropagationPolicy | undefined {
  const written = changed.flatMap(({ after }) => (after ? [after as PropagationPolicy] : []))
  const isLowered = before !== undefined && priorityOf(before) > priorityOf(own)
  const others = isLowered
    ? policiesAround(resource, store).filter(
        (policy) => priorityOf(policy) < priorityOf(before) && !policy.metadata.namespace === !own.metadata.namespace,
      )
    : []
  return [...written, ...others].filter((policy) => takesOver(policy, own, resource)).sort(comparePreemptors)[0]
}

function withPolicy(binding: ResourceBinding, policy: PropagationPolicy | undefined): ResourceBinding {
  const { metadata, spec } = binding
  if (!policy && !policyReferenceOf(metadata)) return binding
  const kept = Object.entries(metadata.annotations ?? {}).filter(([key]) => !REPLACED_ANNOTATIONS.includes(key))
  const annotations = { ...Object.fromEntries(kept), ...(policy && policyAnnotations(policy)) }
  if (!policy) return { ...binding, metadata: { ...metadata, annotations } }
  return { ...binding, metadata: { ...metadata, annotations }, spec: withPolicyFields(spec, policy) }
}

/** Whether the policy of a binding is deleted, or there was none. Then the detector looks for one. */
function isWithoutPolicy({ metadata }: ResourceBinding, changes: readonly StoreChange[]): boolean {
  const own = policyReferenceOf(metadata)
  if (!own) return true
  return changes.some(
    ({ before, after }) => !after && before?.metadata.name === own.name && before.metadata.namespace === own.namespace,
  )
}

/**
 * The lazy policy that has a workload whose binding has no policy. The detector gives it the workload, and leaves the binding as it is until the workload
 * changes (v1.18.1, pkg/detector/detector.go, ApplyPolicy). A policy that the supposition adds has none.
 */
function lazyClaimant(binding: ResourceBinding, { store, changes }: World): PropagationPolicy | undefined {
  if (policyReferenceOf(binding.metadata)) return undefined
  const isNew = (policy: PropagationPolicy) => changes.some(({ before, after }) => after === policy && !before)
  return nextPolicy(binding, store, (policy) => isLazy(policy) && !isNew(policy))
}

/** If the workload is not cached, its labels are not known, and a policy that selects by labels does not count. */
function nextPolicy(
  { spec }: ResourceBinding,
  store: ObjectStore,
  isCandidate?: (policy: PropagationPolicy) => boolean,
): PropagationPolicy | undefined {
  const { apiVersion, kind, namespace, name } = spec.resource
  const labels = workloadLabels(spec.resource, store)
  const template: K8sObject = { apiVersion, kind, metadata: defined({ namespace, name, labels }) }
  return matchedPolicy(template, store, isCandidate)
}
