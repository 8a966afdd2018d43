/** Workloads on whose placement Lodestone decided: what their policy allows, what is allowed, and where they are. */
import {
  clusterResourceBindings,
  type PropagationPolicy,
  type ResourceBinding,
  resourceBindings,
} from '../../api/karmada.ts'
import { defined } from '../../base/json.ts'
import { bindingDecisionId } from '../../core/decision-id.ts'
import { effectiveAffinity } from '../../core/placement/affinity.ts'
import { targetClusters } from '../../core/placement/binding-state.ts'
import { hasOurAnnotations, type LocalityAnnotation, readDecision } from '../../core/resource-binding/annotations.ts'
import { bindingPolicy } from '../../queries/binding.ts'
import type { ObjectStore } from '../../store/store.ts'
import { affinityBefore, describeAffinity } from '../explain/placement.ts'
import type { ObjectReference } from './waiting.ts'

export interface WorkloadRow {
  workload: ObjectReference
  state: LocalityAnnotation['state'] | 'OnHold' | 'Released'
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

/** Reports the workloads with a decision: of stored bindings, and of those that a folder predicts. */
export function workloadRows(store: ObjectStore, predicted: readonly ResourceBinding[]): WorkloadRow[] {
  const stored = [resourceBindings, clusterResourceBindings]
    .flatMap((type) => [...store.list(type)])
    .filter(({ metadata }) => hasOurAnnotations(metadata.annotations))
  return [
    ...stored.flatMap((binding) => {
      const row = workloadRow(binding, bindingPolicy(binding, store))
      const scheduled = targetClusters(binding.spec)
      return row ? [{ ...row, scheduled, decisionId: bindingDecisionId(binding) }] : []
    }),
    ...predicted.flatMap((binding) => workloadRow(binding, bindingPolicy(binding, store)) ?? []),
  ]
}

function workloadRow(binding: ResourceBinding, policy: PropagationPolicy | undefined): WorkloadRow | undefined {
  const { hold, locality } = readDecision(binding.metadata.annotations)
  const state = hold ? (hold.released ? 'Released' : 'OnHold') : locality?.state
  if (state === undefined) return undefined
  const { apiVersion, kind, namespace, name } = binding.spec.resource
  return {
    workload: defined({ apiVersion, kind, namespace: namespace || undefined, name }),
    state,
    message: hold?.message ?? locality?.message ?? '',
    before: describeAffinity(affinityBefore(binding, binding, policy?.spec)),
    allowed:
      state === 'OnHold'
        ? 'no cluster, until the hold ends'
        : describeAffinity(effectiveAffinity(binding.spec.placement)),
  }
}
