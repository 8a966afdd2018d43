/** The decision on a binding at admission and in the loop: which object comes out, and why. */
import type { Placement, ResourceBinding } from '../../api/karmada.ts'
import { MANAGED_BY_LABEL } from '../../api/karmada.ts'
import { jsonEqual } from '../json.ts'
import { cut, type Outcome } from '../outcome.ts'
import { affinityOf, withAffinity } from '../placement/affinity.ts'
import { widenedBy } from '../placement/widened.ts'
import { type BindingNotes, hasNotes, readNotes, writeNotes } from './annotations.ts'
import { recoverBase } from './base.ts'
import { type BindingInput, isScheduled, isWorkload } from './input.ts'
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
  const needsClaim = input.claims.length === 0 && input.policy?.requiresClaim === true && !isScheduled(input)
  if (input.claims.length === 0 && !needsClaim) {
    if (!known) return { state: 'Untouched', binding, message: '' }
    const base = recoverBase(input, (candidate) => candidate)
    const restored = rewrite(input, placement, { state: 'Ignored', affinity: base, notes: {}, message: '' })
    return { state: 'Restored', binding: restored, message: 'no claim is left for this workload' }
  }
  const base = recoverBase(input, (candidate) => judge(input, candidate).affinity)
  const verdict = judge(input, base)
  const widened = widenedBy(base, verdict.affinity, input.clusters, isWorkload(binding))
  if (widened.length > 0) {
    return { state: 'Widened', binding, message: `narrowing would have allowed ${widened.join(', ')}` }
  }
  return { state: verdict.state, binding: rewrite(input, placement, verdict), message: verdict.message }
}

/** The admission's answer: a patch when the binding changes, and a warning when it is not simply narrowed. */
export function answerBinding({ state, binding, message }: BindingDecision, input: BindingInput): Outcome {
  const notes = {
    ...(NOTEWORTHY.has(state) && { warnings: [cut(`lodestone: ${state.toLowerCase()}: ${message}`)] }),
    ...(state !== 'Untouched' && {
      auditAnnotations: { decision: state, ...(message && { reason: cut(message, 512) }) },
    }),
  }
  return binding === input.binding ? { kind: 'allow', ...notes } : { kind: 'patch', object: binding, ...notes }
}

const NOTEWORTHY: ReadonlySet<BindingDecision['state']> = new Set(['Held', 'Kept', 'Relaxed', 'Released', 'Ignored'])

function rewrite(input: BindingInput, placement: Placement, { affinity, notes }: Verdict): ResourceBinding {
  const { binding } = input
  const suspension = suspend(input, notes)
  const annotations = writeNotes(binding.metadata.annotations, suspension.notes)
  const samePlacement =
    jsonEqual(affinity, affinityOf(placement)) && !(placement.clusterAffinity && placement.clusterAffinities)
  if (samePlacement && suspension.value === binding.spec.suspension && annotations === binding.metadata.annotations)
    return binding
  const { suspension: _before, ...spec } = binding.spec
  const { annotations: _annotations, ...metadata } = binding.metadata
  return {
    ...binding,
    metadata:
      annotations === binding.metadata.annotations
        ? binding.metadata
        : { ...metadata, ...(annotations && { annotations }) },
    spec: {
      ...spec,
      ...(suspension.value && { suspension: suspension.value }),
      placement: samePlacement ? placement : withAffinity(placement, affinity),
    },
  }
}

/**
 * Sets or lifts `suspension.scheduling` beside its siblings. A suspension without our note on it is somebody else's: it is neither
 * lifted nor claimed.
 */
function suspend(
  input: BindingInput,
  notes: BindingNotes,
): { value: ResourceBinding['spec']['suspension']; notes: BindingNotes } {
  const { suspension } = input.binding.spec
  const wanted = notes.hold !== undefined && !notes.hold.released
  const holds = [input.stored, input.binding].map((object) => readNotes(object?.metadata.annotations).hold)
  const ours = holds.some((hold) => hold !== undefined && !hold.released)
  if (suspension?.scheduling === true && !ours) {
    const { hold: _notOurs, ...rest } = notes
    return { value: suspension, notes: wanted ? rest : notes }
  }
  if (wanted === (suspension?.scheduling === true)) return { value: suspension, notes }
  if (wanted) return { value: { ...suspension, scheduling: true }, notes }
  const { scheduling: _ours, ...siblings } = suspension ?? {}
  return { value: Object.keys(siblings).length > 0 ? siblings : undefined, notes }
}
