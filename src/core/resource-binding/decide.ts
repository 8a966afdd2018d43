/** The decision on a binding at admission and in the loop: which object comes out, and why. */
import type { Placement, PlacementAffinity, ResourceBinding } from '../../api/karmada.ts'
import { MANAGED_BY_LABEL } from '../../api/karmada.ts'
import { jsonEqual } from '../json.ts'
import { cut, type Outcome } from '../outcome.ts'
import { affinityOf, withAffinity } from '../placement/affinity.ts'
import { widenedBy } from '../placement/widened.ts'
import { type BindingNotes, hasNotes, writeNotes } from './annotations.ts'
import { recoverBase } from './base.ts'
import { type BindingFacts, readFacts } from './facts.ts'
import type { BindingInput } from './input.ts'
import { type BindingState, judge, type Verdict } from './verdict.ts'

export interface BindingDecision {
  /** Untouched: none of our business. Restored: no claim is left, the base is back. Widened: a bug of ours, caught; nothing is changed. */
  state: BindingState | 'Untouched' | 'Restored' | 'Widened'
  /** The binding as it should be: the very same object when nothing changes. */
  binding: ResourceBinding
  /** Why, in a sentence for people; empty when there is nothing to say. */
  message: string
}

/** Decides on a binding. Touches only the affinity, `suspension.scheduling` and our annotations; shares everything else with the input. */
export function decideBinding(input: BindingInput): BindingDecision {
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
    const base = recoverBase(facts, (candidate) => candidate)
    const restored = rewrite(facts, placement, { state: 'Ignored', affinity: base, notes: {}, message: '' })
    return { state: 'Restored', binding: restored, message: 'no claim is left for this workload' }
  }
  // To recover the base, some bases are judged: the right one is among them more often than not.
  const judged = new Map<PlacementAffinity, Verdict>()
  const verdictOn = (base: PlacementAffinity) => {
    const verdict = judged.get(base) ?? judge(facts, base)
    judged.set(base, verdict)
    return verdict
  }
  const base = recoverBase(facts, (candidate) => verdictOn(candidate).affinity)
  const verdict = verdictOn(base)
  const widened = widenedBy(base, verdict.affinity, input.clusters, facts.isWorkload)
  if (widened.length > 0) {
    return { state: 'Widened', binding, message: `narrowing would have allowed ${widened.join(', ')}` }
  }
  return { state: verdict.state, binding: rewrite(facts, placement, verdict), message: verdict.message }
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

function rewrite(facts: BindingFacts, placement: Placement, { affinity, notes }: Verdict): ResourceBinding {
  const { binding } = facts
  const suspension = suspend(facts, notes)
  const annotations = writeNotes(binding.metadata.annotations, suspension.notes)
  const samePlacement =
    jsonEqual(affinity, affinityOf(placement)) && !(placement.clusterAffinity && placement.clusterAffinities)
  if (samePlacement && suspension.value === binding.spec.suspension && annotations === binding.metadata.annotations)
    return binding
  const metadata = { ...binding.metadata }
  if (annotations) metadata.annotations = annotations
  else delete metadata.annotations
  const spec = { ...binding.spec, placement: samePlacement ? placement : withAffinity(placement, affinity) }
  if (suspension.value) spec.suspension = suspension.value
  else if ('suspension' in spec) delete spec.suspension
  return { ...binding, metadata, spec }
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
