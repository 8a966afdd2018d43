/** Writes a decision into a binding: the affinity, the suspension and our annotations. */
import type { Placement, ResourceBinding } from '../../api/karmada.ts'
import { jsonEqual } from '../json.ts'
import { affinityOf, withAffinity } from '../placement/affinity.ts'
import { fitNotes } from './annotation-size.ts'
import { type BindingNotes, writeTexts } from './annotations.ts'
import type { Verdict } from './decide-placement.ts'
import type { BindingFacts } from './parse-input.ts'

/** Writes a decision into the binding; undefined when its annotations have no room for ours. The very same object when nothing changes. */
export function writeDecision(
  facts: BindingFacts,
  placement: Placement,
  verdict: Verdict,
): ResourceBinding | undefined {
  const { binding, policy } = facts
  const { affinity, notes } = verdict
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
    return binding
  }
  const metadata = { ...binding.metadata }
  if (annotations) metadata.annotations = annotations
  else delete metadata.annotations
  const spec = { ...binding.spec, placement: wanted }
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
