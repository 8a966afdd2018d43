/** Plans for a pod that waits for its volumes: removes its scheduling gate when the data is ready. */
import { VOLUMES_GATE } from '../../../api/lodestone.ts'
import { type Pod, type PodSpec, pods } from '../../../api/pod.ts'
import { defined } from '../../../base/json.ts'
import { podDecisionId } from '../../decision-id.ts'
import { type Action, eventAbout, NOTHING, type Plan, patchOf } from '../../plan.ts'
import type { VolumeManagerLookup } from '../injection/mountable-volumes.ts'
import { gateStateOf } from './gate-state.ts'

/**
 * Plans for a gated pod. If its data is ready, the gate is removed. If its volumes have other data now, the pod is deleted, and its
 * controller creates a new one. If it has no controller, an Event asks the user to recreate the pod.
 */
export function planGate(pod: Pod, managers: VolumeManagerLookup): Plan {
  const state = gateStateOf(pod, managers)
  if (!state || state.reason === 'VolumesNotReady') return NOTHING
  const { reason, message } = state
  const isReady = reason === 'VolumesReady'
  const event = defined({
    ...eventAbout(pod, isReady ? 'Normal' : 'Warning', reason, message),
    decisionId: podDecisionId(pod),
  })
  if (isReady) return { actions: [release(pod, state.spec), event] }
  const deletion: Action = { kind: 'delete', type: pods, object: pod }
  return { actions: reason === 'VolumesReplaced' ? [event, deletion] : [event] }
}

function release(pod: Pod, { affinity }: PodSpec): Action {
  const rest = (pod.spec.schedulingGates ?? []).filter((gate) => gate.name !== VOLUMES_GATE)
  const spec = defined({
    schedulingGates: rest.length > 0 ? rest : null,
    affinity: affinity === pod.spec.affinity ? undefined : affinity,
  })
  return patchOf(pods, pod, { spec })
}
