/** Decides on a binding for a given base: one table of rules for each situation. docs/concepts/claims.md has the same tables. */
import type { PlacementAffinity } from '../../api/karmada.ts'
import type { ParsedInput } from './parse-input.ts'
import type { PlacementDecision } from './placement-decision.ts'
import { holdUntilClaimed, holdUntilLocated, ignoreUnlocated, narrowOrHold } from './rules/not-scheduled.ts'
import {
  applyBaseIfUnlocated,
  awaitLoop,
  awaitReturn,
  followData,
  stayIfMoveCosts,
  stayIfNotAllowed,
  stayIfRefused,
  stayWhileUnlocated,
  stayWithoutMove,
} from './rules/scheduled.ts'
import { decideByFirst, type Rule, situationOf } from './rules/situation.ts'
import { awaitSuccessor, keepWhileUnknown, restore } from './rules/without-claim.ts'

/** A workload that has a claim and does not run. */
const NOT_SCHEDULED: readonly Rule[] = [
  {
    when: 'a claim holds it, since the location is unknown or the data exists nowhere',
    states: ['OnHold', 'Released'],
    decide: holdUntilLocated,
  },
  { when: 'no claim has a location', states: ['Ignored'], decide: ignoreUnlocated },
  {
    when: 'otherwise: it needs a cluster that the policy allows and that can take it',
    states: ['Narrowed', 'OnHold', 'Released', 'Ignored'],
    decide: narrowOrHold,
  },
]

/** A workload that has a claim and runs. */
const SCHEDULED: readonly Rule[] = [
  { when: 'another claim was deleted a moment ago', states: ['Kept'], decide: awaitSuccessor },
  {
    when: 'the location is unknown, or the data exists nowhere',
    states: ['Kept', 'Relaxed', 'Ignored'],
    decide: stayWhileUnlocated,
  },
  { when: 'no claim has a location', states: ['Ignored', 'Relaxed'], decide: applyBaseIfUnlocated },
  { when: 'the data moved, and `rebalance` does not move it', states: ['Kept', 'Relaxed'], decide: stayIfMoveCosts },
  {
    when: 'the policy allows no cluster with the data',
    states: ['Kept', 'Relaxed', 'Ignored'],
    decide: stayIfNotAllowed,
  },
  { when: 'no cluster with the data can take it', states: ['Kept', 'Relaxed'], decide: stayIfRefused },
  {
    when: 'it would move, and no policy selects it any more, or dispatching is suspended',
    states: ['Kept', 'Relaxed'],
    decide: stayWithoutMove,
  },
  { when: 'it is relaxed, and may not return yet', states: ['Relaxed'], decide: awaitReturn },
  { when: 'it would move, and the loop has not moved it yet', states: ['Kept', 'Ignored'], decide: awaitLoop },
  { when: 'otherwise', states: ['Narrowed', 'Kept', 'Relaxed'], decide: followData },
]

/** A workload without a claim, which has an annotation of Lodestone or whose policy requires a claim. */
const NO_CLAIM: readonly Rule[] = [
  {
    when: 'a claim may exist that cannot be read',
    states: ['Kept', 'Relaxed', 'OnHold', 'Released'],
    decide: keepWhileUnknown,
  },
  {
    when: 'its policy requires a claim, and it does not run',
    states: ['OnHold', 'Released'],
    decide: holdUntilClaimed,
  },
  { when: 'it runs, and its last claim was deleted a moment ago', states: ['Kept'], decide: awaitSuccessor },
  { when: 'otherwise', states: ['Restored', 'Relaxed'], decide: restore },
]

/** The tables of rules, by situation. In each, the first rule that applies decides, and the last one always applies. */
export const PLACEMENT_RULES = { notScheduled: NOT_SCHEDULED, scheduled: SCHEDULED, noClaim: NO_CLAIM }

/** Decides for one base. Pure and deterministic: the same input gives the same bytes, and the order of the claims does not matter. */
export function decidePlacement(input: ParsedInput, base: PlacementAffinity): PlacementDecision {
  return decideByFirst(rulesFor(input), situationOf(input, base))
}

/** Returns the table of rules for the situation of a workload. */
export function rulesFor({ claims, isScheduled }: ParsedInput): readonly Rule[] {
  if (claims.length === 0) return NO_CLAIM
  return isScheduled ? SCHEDULED : NOT_SCHEDULED
}
