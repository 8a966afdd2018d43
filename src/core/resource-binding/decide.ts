/** The decision on a binding at admission and in the loop: which object comes out, and why. */
import type { Placement, PlacementAffinity, ResourceBinding } from '../../api/karmada.ts'
import { MANAGED_BY_LABEL } from '../../api/karmada.ts'
import { jsonEqual } from '../json.ts'
import { cut, type Outcome } from '../outcome.ts'
import { affinityOf, withAffinity } from '../placement/affinity.ts'
import { widenedBy } from '../placement/widened.ts'
import { type BindingNotes, hasNotes, OUR_ANNOTATIONS, writeTexts } from './annotations.ts'
import { recoverBase } from './base.ts'
import { type BindingFacts, readFacts } from './facts.ts'
import type { BindingInput } from './input.ts'
import { fitNotes } from './note-size.ts'
import { type BindingState, judge, judgeTooLarge, type Verdict } from './verdict.ts'

export interface BindingDecision {
  /** Untouched: none of our business. Restored: no claim is left, the base is back. Widened: a bug of ours, caught; nothing is changed. */
  state: BindingState | 'Untouched' | 'Restored' | 'Widened'
  /** The binding as it should be: the very same object when nothing changes. */
  binding: ResourceBinding
  /** Why, in a sentence for people; empty when there is nothing to say. */
  message: string
}

/**
 * Decides on a binding. Touches only the affinity, `suspension.scheduling` and our annotations; shares everything else with the input.
 *
 * Deciding again on the result changes nothing. Where the requester writes our annotations, they may contradict what is stored, so the
 * result is decided on again until it stays: the loop's own write stays at once, a forged one after two or three rounds.
 */
export function decideBinding(input: BindingInput): BindingDecision {
  let decision = decideOnce(input)
  if (!changesNotes(input)) return decision
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const next = decideOnce({ ...input, binding: decision.binding })
    if (next.binding === decision.binding) break
    decision = next
  }
  return decision
}

const MAX_ROUNDS = 4

/** Whether our annotations differ from those that are stored. */
function changesNotes({ binding, stored }: BindingInput): boolean {
  const before = stored?.metadata.annotations
  const { annotations } = binding.metadata
  return OUR_ANNOTATIONS.some((key) => annotations?.[key] !== before?.[key])
}

function decideOnce(input: BindingInput): BindingDecision {
  const { binding } = input
  const { placement } = binding.spec
  if (!placement || binding.metadata.deletionTimestamp || binding.metadata.labels?.[MANAGED_BY_LABEL] !== undefined) {
    return { state: 'Untouched', binding, message: '' }
  }
  const known = hasNotes(binding.metadata.annotations) || hasNotes(input.stored?.metadata.annotations)
  if (input.claims.length === 0 && !known && !input.policy?.requiresClaim) {
    // Nearly every binding of a hub: nothing more is looked at.
    return { state: 'Untouched', binding, message: '' }
  }
  const facts = readFacts(input)
  const needsClaim = input.claims.length === 0 && input.policy?.requiresClaim === true && !facts.isScheduled
  if (input.claims.length === 0 && !needsClaim) {
    if (!known) return { state: 'Untouched', binding, message: '' }
    const base = recoverBase(facts, (affinity) => ({ affinity, notes: {} }))
    const message = 'no claim is left for this workload'
    const restored = apply(facts, placement, { state: 'Ignored', affinity: base, notes: {}, message })
    return { state: 'Restored', binding: restored?.binding ?? binding, message }
  }
  // To recover the base, some bases are judged: the right one is among them more often than not.
  const judged = new Map<PlacementAffinity, Verdict>()
  const verdictOn = (base: PlacementAffinity) => {
    const verdict = judged.get(base) ?? judge(facts, base)
    judged.set(base, verdict)
    return verdict
  }
  const base = recoverBase(facts, verdictOn)
  const verdict = verdictOn(base)
  const widened = widenedBy(base, verdict.affinity, input.clusters, facts.isWorkload)
  if (widened.length > 0) {
    return { state: 'Widened', binding, message: `narrowing would have allowed ${widened.slice(0, 5).join(', ')}` }
  }
  return apply(facts, placement, verdict) ?? applyTooLarge(facts, placement, base)
}

/** The admission's answer: a patch when the binding changes, and a warning when it is not simply narrowed. */
export function answerBinding({ state, binding, message }: BindingDecision, input: BindingInput): Outcome {
  const outcome: Outcome = binding === input.binding ? { kind: 'allow' } : { kind: 'patch', object: binding }
  if (NOTEWORTHY.has(state)) outcome.warnings = [cut(`lodestone: ${state.toLowerCase()}: ${message}`)]
  if (state !== 'Untouched') {
    outcome.auditAnnotations = message ? { decision: state, reason: cut(message, 512) } : { decision: state }
  }
  return outcome
}

const NOTEWORTHY: ReadonlySet<BindingDecision['state']> = new Set(['Held', 'Kept', 'Relaxed', 'Released', 'Ignored'])

/** What a verdict makes of the binding; undefined when its annotations have no room for what has to be noted. */
function apply(facts: BindingFacts, placement: Placement, verdict: Verdict): BindingDecision | undefined {
  const { binding, policy } = facts
  const { state, affinity, notes, message } = verdict
  const suspension = suspend(facts, notes)
  const isSame =
    jsonEqual(affinity, affinityOf(placement)) && !(placement.clusterAffinity && placement.clusterAffinities)
  const wanted = isSame ? placement : withAffinity(placement, affinity)
  const { annotations: before } = binding.metadata
  const texts = fitNotes(suspension.notes, {
    annotations: before,
    placement: wanted,
    policy: policy && affinityOf(policy.placement),
  })
  if (!texts) return undefined
  const annotations = writeTexts(before, texts)
  if (isSame && suspension.value === binding.spec.suspension && annotations === before) {
    return { state, binding, message }
  }
  const metadata = { ...binding.metadata }
  if (annotations) metadata.annotations = annotations
  else delete metadata.annotations
  const spec = { ...binding.spec, placement: wanted }
  if (suspension.value) spec.suspension = suspension.value
  else if ('suspension' in spec) delete spec.suspension
  return { state, binding: { ...binding, metadata, spec }, message }
}

/** What cannot be noted is not narrowed: it is held, or, where even that finds no room or comes too late, left as it is. */
function applyTooLarge(facts: BindingFacts, placement: Placement, base: PlacementAffinity): BindingDecision {
  const verdict = judgeTooLarge(facts, base)
  const held = facts.isScheduled ? undefined : apply(facts, placement, verdict)
  return held ?? { state: 'Ignored', binding: facts.binding, message: verdict.message }
}

/**
 * Sets or lifts `suspension.scheduling` beside its siblings. A suspension without our note on it is somebody else's: it is neither
 * lifted nor claimed.
 */
function suspend(
  facts: BindingFacts,
  notes: BindingNotes,
): { value: ResourceBinding['spec']['suspension']; notes: BindingNotes } {
  const { suspension } = facts.binding.spec
  const wanted = notes.hold !== undefined && !notes.hold.released
  const ours = [facts.storedNotes, facts.notes].some(({ hold }) => hold !== undefined && !hold.released)
  if (suspension?.scheduling === true && !ours) {
    const { hold: _notOurs, ...rest } = notes
    return { value: suspension, notes: wanted ? rest : notes }
  }
  if (wanted === (suspension?.scheduling === true)) return { value: suspension, notes }
  if (wanted) return { value: { ...suspension, scheduling: true }, notes }
  const { scheduling: _ours, ...siblings } = suspension ?? {}
  return { value: Object.keys(siblings).length > 0 ? siblings : undefined, notes }
}
