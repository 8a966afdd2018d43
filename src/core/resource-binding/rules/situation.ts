/** The situation of a binding: what the rules of a decision read. */
import type { PlacementAffinity } from '../../../api/karmada.ts'
import { sortedUnique } from '../../../base/json.ts'
import { targetClusters } from '../../placement/binding-state.ts'
import type { Misfit } from '../../placement/fit.ts'
import { isNarrowing, type LocalityAnnotation } from '../annotations.ts'
import { type FittingNarrowing, narrowToFit } from '../narrow-to-fit.ts'
import type { ParsedInput } from '../parse-input.ts'
import type { PlacementDecision, PlacementState } from '../placement-decision.ts'
import { excludedClusters } from '../volcano-global.ts'

export interface Situation {
  input: ParsedInput
  /** The affinity before narrowing. */
  base: PlacementAffinity
  /** The last narrowing of the workload; undefined if it was never narrowed. */
  last: LocalityAnnotation | undefined
  /** Narrows the base to the located data, once: no rule before needs it. */
  narrowing(): FittingNarrowing | Misfit
}

export interface Rule {
  /** When the rule applies, if no rule before it does: a row of docs/concepts/claims.md. */
  when: string
  /** The states that it can decide. */
  states: readonly PlacementState[]
  /** Returns undefined if the rule does not apply. */
  decide(situation: Situation): PlacementDecision | undefined
}

/** Returns what the rules read, for one base. */
export function situationOf(input: ParsedInput, base: PlacementAffinity): Situation {
  let narrowing: FittingNarrowing | Misfit | undefined
  return {
    input,
    base,
    last: lastNarrowing(input),
    narrowing: () => (narrowing ??= narrowToFit(input, base, input.constraint)),
  }
}

/** Returns the decision of the first rule that applies. Throws if no rule does: the last rule of a table applies to every situation. */
export function decideByFirst(rules: readonly Rule[], situation: Situation): PlacementDecision {
  for (const rule of rules) {
    const decision = rule.decide(situation)
    if (decision) return decision
  }
  throw new Error('no rule applies; the last rule of a table must apply to every situation')
}

/**
 * The last narrowing of a scheduled workload, by Lodestone or by volcano-global. Only the stored annotation counts: any requester can send
 * one.
 */
function lastNarrowing(input: ParsedInput): LocalityAnnotation | undefined {
  const { locality } = input.stored ? input.storedAnnotations : input.annotations
  if (!locality) return adoptedNarrowing(input)
  return isNarrowing(locality) ? locality : undefined
}

/**
 * Returns the clusters that volcano-global chose for a running workload, in the form of a last narrowing. Its exclusions are in the binding
 * only, so the next write of Karmada's detector, or of `lodestone migrate`, would start the workload in the excluded clusters.
 *
 * Returns undefined if Lodestone has decided on the workload before, or if the workload does not follow the exclusions.
 */
export function adoptedNarrowing({ stored, storedAnnotations }: ParsedInput): LocalityAnnotation | undefined {
  const excluded = excludedClusters(stored?.metadata.annotations)
  const clusters = targetClusters(stored?.spec)
  if (excluded.size === 0 || clusters.length === 0 || storedAnnotations.locality) return undefined
  if (clusters.some((name) => excluded.has(name))) return undefined
  return { state: 'Kept', message: 'volcano-global chose these clusters', claims: [], required: sortedUnique(clusters) }
}
