/** Plans for a pod that waits for its volumes: removes its scheduling gate when the data is ready. */
import { VOLUMES_ANNOTATION, VOLUMES_GATE } from '../../../api/lodestone.ts'
import type { NodeSelectorTerm } from '../../../api/node.ts'
import { type Pod, type PodSpec, pods } from '../../../api/pod.ts'
import { describeErrors } from '../../field-errors.ts'
import { jsonEqual } from '../../json.ts'
import type { Action, EventAction, Plan } from '../../plan.ts'
import { NOTHING } from '../../plan.ts'
import { boundNode, mustWait } from '../decide-pod.ts'
import { mountedClaims } from '../injection/claims.ts'
import { injectVolumes } from '../injection/inject.ts'
import type { VolumeManagerLookup } from '../injection/mountable-volumes.ts'
import { findVolume } from '../injection/volume-source.ts'
import { resolveRequests, type WantedVolume } from '../requests/resolve.ts'
import { parseVolumeRequests } from '../requests/volume-requests.ts'

/** Whether a pod waits for its volumes. */
export function isGated({ metadata, spec }: Pod): boolean {
  return !metadata.deletionTimestamp && (spec.schedulingGates ?? []).some(({ name }) => name === VOLUMES_GATE)
}

/**
 * Plans for a gated pod by a second injection. Admission decided which volumes the pod mounts, and an API server allows only a narrower
 * affinity for a pod with scheduling gates (ValidatePodUpdate).
 *
 * If that is the only difference, the gate is removed. Otherwise its volumes have other data now: the pod is deleted, and its controller
 * creates a new one. If it has no controller, an Event asks the user to recreate the pod.
 */
export function planGate(pod: Pod, managers: VolumeManagerLookup): Plan {
  if (!isGated(pod)) return NOTHING
  const parsed = parseVolumeRequests(pod.metadata.annotations?.[VOLUMES_ANNOTATION] ?? '')
  if ('errors' in parsed) return { actions: [complaint(pod, describeErrors(parsed.errors))] }
  const { wanted: all, errors, unusable } = resolveRequests(parsed.requests, managers)
  const { wanted, isElsewhere } = mountedClaims(
    all.filter((volume) => !wasLeftOut(pod.spec, volume)),
    pod.spec,
  )
  const wrong = [...errors, ...unusable]
  if (wrong.length > 0) return { actions: [complaint(pod, describeErrors(wrong))] }
  // Another claim can only be chosen for another pod. A pod without a controller waits for the replica of its claim.
  if (isElsewhere && (isReplaced(pod) || !wanted.some(mustWait))) return { actions: giveUp(pod) }
  if (wanted.some(mustWait)) return NOTHING
  const injected = injectVolumes(pod.spec, wanted)
  // If the directory of a volume changed, the volume that admission injected conflicts with the new one.
  const becomes = 'spec' in injected && mayBecome(pod.spec, injected.spec)
  return { actions: becomes ? release(pod, injected.spec) : giveUp(pod) }
}

/** Whether admission left out a preferred volume that the node of the pod did not have. Volumes cannot be added later. */
function wasLeftOut(spec: PodSpec, { request, source, volume }: WantedVolume): boolean {
  const mayBe = volume.claims !== undefined || boundNode(spec) !== undefined
  if (!mayBe || request.enforcement !== 'Preferred') return false
  const sources = volume.claims?.map(({ claimName }) => ({ persistentVolumeClaim: { claimName } })) ?? [source]
  return !sources.some((one) => findVolume(spec.volumes ?? [], one))
}

function release(pod: Pod, { affinity }: PodSpec): Action[] {
  const { namespace, name = '', resourceVersion } = pod.metadata
  const rest = (pod.spec.schedulingGates ?? []).filter((gate) => gate.name !== VOLUMES_GATE)
  return [
    {
      kind: 'patch',
      of: { type: pods, ...(namespace && { namespace }), name },
      patch: {
        metadata: { resourceVersion },
        spec: { schedulingGates: rest.length > 0 ? rest : null, ...(affinity !== pod.spec.affinity && { affinity }) },
      },
    },
    {
      kind: 'event',
      about: pod,
      type: 'Normal',
      reason: 'VolumesReady',
      message: 'the data of all required volumes is ready',
    },
  ]
}

const STALE = 'the data of its volumes changed after the pod was created'

function giveUp(pod: Pod): Action[] {
  if (!isReplaced(pod)) return [complaint(pod, `${STALE}; recreate the pod`)]
  return [
    {
      kind: 'event',
      about: pod,
      type: 'Warning',
      reason: 'VolumesReplaced',
      message: `${STALE}; its controller replaces it`,
    },
    { kind: 'delete', type: pods, object: pod },
  ]
}

/** Whether a controller creates a new pod when this one is deleted. */
function isReplaced({ metadata }: Pod): boolean {
  return metadata.ownerReferences?.some(({ controller }) => controller) ?? false
}

function complaint(about: Pod, message: string): EventAction {
  return { kind: 'event', about, type: 'Warning', reason: 'VolumesUnusable', message }
}

/** Whether an API server allows this change of a gated pod: each term must begin with its old requirements, and nothing else changes. */
function mayBecome(before: PodSpec, after: PodSpec): boolean {
  const { affinity: was, ...own } = before
  const { affinity: is, ...wanted } = after
  if (!jsonEqual(own, wanted)) return false
  const [terms, next] = [termsOf(was), termsOf(is)]
  return terms.length === 0 || (terms.length === next.length && terms.every((term, i) => begins(next[i] ?? {}, term)))
}

function termsOf(affinity: PodSpec['affinity']): readonly NodeSelectorTerm[] {
  return affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
}

function begins(term: NodeSelectorTerm, withTerm: NodeSelectorTerm): boolean {
  const startsWith = (list: readonly unknown[] = [], head: readonly unknown[] = []) =>
    jsonEqual(list.slice(0, head.length), head)
  return (
    startsWith(term.matchExpressions, withTerm.matchExpressions) && startsWith(term.matchFields, withTerm.matchFields)
  )
}
