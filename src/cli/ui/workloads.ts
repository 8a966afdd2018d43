/** Workloads on whose placement Lodestone decided: what their policy allows, what is allowed, and where they are. */

import type { PropagationPolicy, ResourceBinding } from '../../api/karmada.ts'
import { type ObjectReference, plainReference } from '../../api/meta.ts'
import { bindingDecisionId } from '../../core/decision-id.ts'
import { effectiveAffinity } from '../../core/placement/affinity.ts'
import { targetClusters } from '../../core/placement/binding-state.ts'
import { type DecidedAnnotations, hasOurAnnotations, readDecision } from '../../core/resource-binding/annotations.ts'
import { bindingPolicy } from '../../queries/binding.ts'
import { allBindings } from '../../queries/workload.ts'
import type { ObjectStore } from '../../store/store.ts'
import { type StoredState, storedDecision } from '../explain/placed.ts'
import { affinityBefore, describeAffinity } from '../explain/placement.ts'

export interface WorkloadRow {
  workload: ObjectReference
  state: Exclude<StoredState, 'Untouched'>
  /** Why: the sentence of the annotation, the Event and `explain`. */
  message: string
  /** The clusters that the policy allows, in words. */
  before: string
  /** The clusters that are allowed by the decision, in words. */
  allowed: string
  /** The clusters to which it is scheduled; absent if the decision is only predicted. */
  scheduled?: string[]
  /** The id of the decision; absent if it is only predicted. */
  decisionId?: string
}

/** A stored binding with the decision in its annotations, and the id of it. */
export interface DecidedBinding extends DecidedAnnotations {
  binding: ResourceBinding
  decisionId: string
}

/** Returns the stored bindings that have a decision. */
export function decidedBindings(store: ObjectStore): DecidedBinding[] {
  return [...allBindings(store)]
    .filter(({ metadata }) => hasOurAnnotations(metadata.annotations))
    .map((binding) => {
      const decision = readDecision(binding.metadata.annotations)
      return { binding, ...decision, decisionId: bindingDecisionId(binding, decision) }
    })
}

/** Reports the workloads with a decision: of stored bindings, and of those that a folder predicts. */
export function workloadRows(
  store: ObjectStore,
  decided: readonly DecidedBinding[],
  predicted: readonly ResourceBinding[],
): WorkloadRow[] {
  return [
    ...decided.flatMap(({ binding, decisionId, ...decision }) => {
      const row = workloadRow(binding, bindingPolicy(binding, store), decision)
      return row ? [{ ...row, scheduled: targetClusters(binding.spec), decisionId }] : []
    }),
    ...predicted.flatMap((binding) => {
      return workloadRow(binding, bindingPolicy(binding, store)) ?? []
    }),
  ]
}

function workloadRow(
  binding: ResourceBinding,
  policy: PropagationPolicy | undefined,
  decided?: DecidedAnnotations,
): WorkloadRow | undefined {
  const { state, message } = storedDecision(binding, decided)
  if (state === 'Untouched') return undefined
  return {
    workload: plainReference(binding.spec.resource),
    state,
    message,
    before: describeAffinity(affinityBefore(binding, binding, policy?.spec)),
    allowed:
      state === 'OnHold'
        ? 'no cluster, until the hold ends'
        : describeAffinity(effectiveAffinity(binding.spec.placement)),
  }
}
