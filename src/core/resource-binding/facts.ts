/** What a decision asks of its input again and again, read once: notes are JSON in strings, and claims come in any order. */
import type { ClaimAnswer } from '../data-source-claim/locate.ts'
import { constraintOf, type DataConstraint } from '../placement/constraint.ts'
import { type BindingNotes, readNotes } from './annotations.ts'
import type { BindingInput } from './input.ts'

export interface BindingFacts extends BindingInput {
  /** Sorted by name: whatever order they came in, the same bytes go out. */
  claims: readonly ClaimAnswer[]
  /** What the located claims demand together. */
  constraint: DataConstraint
  /** Our notes on the binding as it was sent. */
  notes: BindingNotes
  /** Our notes on the binding as it is stored. */
  storedNotes: BindingNotes
  /** Whether the scheduler has placed the workload, before or in this write: then a hold comes too late and a change of affinity moves it. */
  isScheduled: boolean
  /** Karmada's ResourceBindingSpec.IsWorkload: only then overflow tiers count. */
  isWorkload: boolean
}

export function readFacts(input: BindingInput): BindingFacts {
  const { binding, stored } = input
  return {
    ...input,
    claims: input.claims.length < 2 ? input.claims : input.claims.toSorted((a, b) => (a.claim < b.claim ? -1 : 1)),
    constraint: constraintOf(input.claims),
    notes: readNotes(binding.metadata.annotations),
    storedNotes: readNotes(stored?.metadata.annotations),
    isScheduled: isPlaced(binding) || isPlaced(stored),
    isWorkload: isWorkload(binding),
  }
}

function isPlaced(binding: BindingInput['stored']): boolean {
  return !!binding?.spec.clusters?.length || !!binding?.spec.gracefulEvictionTasks?.length
}

function isWorkload({ spec }: BindingInput['binding']): boolean {
  return (spec.replicas ?? 0) > 0 || spec.replicaRequirements != null || !!spec.components?.length
}
