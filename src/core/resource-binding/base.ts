/** Recovers the base: what the placement was before we narrowed it, from whoever may speak for it in this write. */
import type { PlacementAffinity, ResourceBinding } from '../../api/karmada.ts'
import { LOCALITY_ANNOTATION } from '../../api/lodestone.ts'
import { jsonEqual } from '../json.ts'
import { affinityOf, withAffinity } from '../placement/affinity.ts'
import { narrowPlacement } from '../placement/narrow.ts'
import { widenedBy } from '../placement/widened.ts'
import { type BindingFacts, constraintIn } from './facts.ts'

/** The affinity that we would give for a base, and what we would note. */
export interface BaseAnswer {
  affinity: PlacementAffinity
  notes: { base?: PlacementAffinity }
}

/**
 * Finds the base of this write.
 *
 * Karmada's detector sends the policy's placement at every reconcile and keeps annotations; every other writer sends back what is
 * stored, our narrowing included; and the API server calls us a second time with our own answer when a later webhook changed the
 * object (reinvocation). The loop sends what it decided, from what its own replica knows. So:
 * - a changed affinity is the new base, unless it is just what we answer for the base noted on it (our own first round), or the loop's;
 * - an unchanged one means the policy's, where that is known and in force, else the base noted on it.
 *
 * @param answer what we would answer for a base
 */
export function recoverBase(facts: BindingFacts, answer: (base: PlacementAffinity) => BaseAnswer): PlacementAffinity {
  const { binding, stored } = facts
  const incoming = affinityOf(binding.spec.placement)
  const noted = facts.notes.base
  const policy = facts.policy && !facts.policy.lazy ? affinityOf(facts.policy.placement) : undefined
  // A note beside an answer that needs none is not ours.
  const isOurs = (base: PlacementAffinity) => {
    const { affinity, notes } = answer(base)
    return notes.base !== undefined && jsonEqual(affinity, incoming)
  }
  if (stored === undefined || !jsonEqual(incoming, affinityOf(stored.spec.placement))) {
    return noted && (isOurs(noted) || isOfLoop(facts, noted, incoming)) ? noted : incoming
  }
  // A note that was just written wins if it explains what came: reinvocation, when the answer to a new base is the affinity that is
  // stored already. It widens nothing: the affinity is the stored one, and the next write asks the policy again.
  if (noted && !jsonEqual(noted, facts.storedNotes.base) && isOurs(noted)) return noted
  if (policy) return policy
  const base = facts.storedNotes.base ?? incoming
  return isTrusted(facts, answer(base).affinity, incoming) ? base : incoming
}

/**
 * Whether the loop sends this, decided from claims and sources that this replica has not seen yet: then our answer is another one, and
 * its affinity is still no base. It came with a new note, which explains it.
 */
function isOfLoop(facts: BindingFacts, noted: PlacementAffinity, incoming: PlacementAffinity): boolean {
  const { binding, stored, notes, clusters, isWorkload } = facts
  if (!stored || !notes.locality || localityText(binding) === localityText(stored)) return false
  const base = withAffinity(binding.spec.placement ?? {}, noted)
  const narrowing = narrowPlacement({ base, constraint: constraintIn(notes.locality), clusters, isWorkload })
  return narrowing.kind === 'narrowed' && jsonEqual(narrowing.affinity, incoming) && isTrusted(facts, noted, incoming)
}

function localityText({ metadata }: ResourceBinding): string | undefined {
  return metadata.annotations?.[LOCALITY_ANNOTATION]
}

/** An annotation may not widen: where the policy is known (though not in force yet), what comes of it stays within that or the stored. */
function isTrusted(
  { policy, clusters, isWorkload }: BindingFacts,
  result: PlacementAffinity,
  incoming: PlacementAffinity,
): boolean {
  const within = (outer: PlacementAffinity) => widenedBy(outer, result, clusters, isWorkload).length === 0
  return policy === undefined || within(affinityOf(policy.placement)) || within(incoming)
}
