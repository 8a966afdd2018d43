/** Plans the loop of policies: sets `propagateDeps` if a claim or workload came after the policy, and removes it after the last one. */

import { type PropagationPolicy, policyTypeIn } from '../../api/karmada.ts'
import { PROPAGATE_DEPS_SET_ANNOTATION } from '../../api/lodestone.ts'
import { declarationsIn } from '../admission/declared-value.ts'
import { eventAbout, NOTHING, type PatchAction, type Plan, patchOf } from '../plan.ts'
import { decidePolicy, isSetByUs, type PolicyInput } from './decide.ts'

/** `policy` is the cached one. */
export interface PolicyPlanInput extends Omit<PolicyInput, 'stored'> {
  /** Set if Lodestone set `propagateDeps` and no workload of the policy has a claim or volumes any more. */
  release?: PolicyRelease
}

export interface PolicyRelease {
  /** Until then, in ms from now, a claim that is replaced may return. */
  waitMs: number
  /** The policy as the API server has it, with all fields; absent if it was deleted, or before the end of the wait. */
  current?: PropagationPolicy
}

/** Plans for a policy: one patch for the resourceVersion that was read, or nothing. Admission records the author's choice. */
export function planPolicy(input: PolicyPlanInput): Plan {
  return input.release ? planRelease(input.release) : planPropagation(input)
}

function planPropagation(input: PolicyPlanInput): Plan {
  const { policy } = input
  const { state, message } = decidePolicy({ ...input, stored: policy })
  if (state !== 'Propagated') return NOTHING
  return {
    actions: [
      patchOfPolicy(policy, {
        metadata: { annotations: { [PROPAGATE_DEPS_SET_ANNOTATION]: 'true' } },
        spec: { propagateDeps: true },
      }),
      eventAbout(policy, 'Normal', 'PropagateDepsSet', `propagateDeps set: ${message}`),
    ],
  }
}

/** Whether Karmada requires `propagateDeps`: its webhook rejects application failover without it (pkg/util/validation/validation.go). */
export function requiresPropagateDeps({ spec }: PropagationPolicy): boolean {
  return spec.failover?.application !== undefined
}

/** Whether the author of a policy has written `propagateDeps: true`, and not Lodestone alone. */
export function isPropagateDepsDeclared(policy: PropagationPolicy): boolean {
  const path = ['metadata', 'annotations', PROPAGATE_DEPS_SET_ANNOTATION]
  return declarationsIn(policy)(['spec', 'propagateDeps'], path)
}

/** Removes `propagateDeps` with its note. A value that a user declares stays, without the note. A value that Karmada requires stays with it. */
function planRelease({ waitMs, current }: PolicyRelease): Plan {
  if (waitMs > 0) return { actions: [], requeueAfterMs: waitMs }
  if (!current) return NOTHING
  if (!isSetByUs(current) || current.metadata.deletionTimestamp || requiresPropagateDeps(current)) return NOTHING
  const withoutNote = { annotations: { [PROPAGATE_DEPS_SET_ANNOTATION]: null } }
  if (isPropagateDepsDeclared(current)) {
    return { actions: [patchOfPolicy(current, { metadata: withoutNote })] }
  }
  return {
    actions: [
      patchOfPolicy(current, { metadata: withoutNote, spec: { propagateDeps: null } }),
      eventAbout(
        current,
        'Normal',
        'PropagateDepsUnset',
        'propagateDeps removed: no workload of the policy has a claim or volumes any more',
      ),
    ],
  }
}

function patchOfPolicy(policy: PropagationPolicy, change: Record<string, unknown>): PatchAction {
  return patchOf(policyTypeIn(policy.metadata.namespace), policy, change)
}
