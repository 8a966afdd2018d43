/** Finds out why a pod has our scheduling gate, and plans its removal: the data is not ready, cannot be used, or changed meanwhile. */
import { VOLUMES_ANNOTATION, VOLUMES_GATE } from '../../../api/lodestone.ts'
import { type NodeSelectorTerm, requiredTermsOf } from '../../../api/node.ts'
import { type Pod, type PodSpec, pods } from '../../../api/pod.ts'
import { describeErrors } from '../../../base/field-errors.ts'
import { defined, jsonEqual } from '../../../base/json.ts'
import { podDecisionId } from '../../decision-id.ts'
import { type Action, eventAbout, NOTHING, type Plan, patchOf } from '../../plan.ts'
import { boundNode, mustWait } from '../decide-pod.ts'
import { mountedClaims } from '../injection/claims.ts'
import { injectVolumes } from '../injection/inject.ts'
import type { VolumeManagerLookup } from '../injection/mountable-volumes.ts'
import { findVolume } from '../injection/volume-source.ts'
import { resolveRequests, type WantedVolume } from '../requests/resolve.ts'
import { parseVolumeRequests } from '../requests/volume-requests.ts'
import { VOLUMES_READY, waitsFor } from './volumes-state.ts'

/** The reason is that of the Event, if there is one. The message says what the pod waits for, then the remedy. */
export type GateState =
  | { reason: 'VolumesNotReady'; message: string }
  /** The gate can be removed. `spec`: the pod with its volumes; only its affinity differs from that of the pod. */
  | { reason: 'VolumesReady'; message: string; spec: PodSpec }
  /** Its volumes have other data now, or another replica, and its controller creates a new pod when this one is deleted. */
  | { reason: 'VolumesReplaced'; message: string }
  | { reason: 'VolumesUnusable'; message: string }

const OUTDATED = 'the data of its volumes changed after the pod was created'

/** Whether a pod waits for its volumes. */
export function isGated({ metadata, spec }: Pod): boolean {
  return !metadata.deletionTimestamp && (spec.schedulingGates ?? []).some(({ name }) => name === VOLUMES_GATE)
}

/**
 * Returns why a pod is on hold; undefined if it does not have our gate.
 *
 * The volumes are injected again. Admission decided which volumes the pod mounts, and an API server allows only a narrower affinity for a
 * pod with scheduling gates (ValidatePodUpdate). So the pod is ready if that is the only difference.
 */
export function gateStateOf(pod: Pod, managers: VolumeManagerLookup): GateState | undefined {
  if (!isGated(pod)) return undefined
  if (isUncounted(pod)) return outdated(pod)
  const parsed = parseVolumeRequests(pod.metadata.annotations?.[VOLUMES_ANNOTATION] ?? '')
  if ('errors' in parsed) return unusable(describeErrors(parsed.errors))
  const resolved = resolveRequests(parsed.requests, managers)
  const { wanted, isElsewhere } = mountedClaims(
    resolved.wanted.filter((volume) => !wasLeftOut(pod.spec, volume)),
    pod.spec,
  )
  const wrong = [...resolved.errors, ...resolved.unusable]
  if (wrong.length > 0) return unusable(describeErrors(wrong))
  const waiting = wanted.filter(mustWait)
  // Another claim can only be chosen for another pod. A pod without a controller waits for the replica of its claim.
  if (isElsewhere && (isReplaced(pod) || waiting.length === 0)) return outdated(pod)
  if (waiting.length > 0) return { reason: 'VolumesNotReady', message: waitsFor(waiting) }
  const injected = injectVolumes(pod.spec, wanted)
  // If the directory of a volume changed, the volume that admission injected conflicts with the new one.
  const becomes = 'spec' in injected && mayBecome(pod.spec, injected.spec)
  if (!becomes) return outdated(pod)
  return { reason: 'VolumesReady', message: VOLUMES_READY, spec: injected.spec }
}

function unusable(message: string): GateState {
  return { reason: 'VolumesUnusable', message }
}

function outdated(pod: Pod): GateState {
  return isReplaced(pod)
    ? { reason: 'VolumesReplaced', message: `${OUTDATED}; its controller replaces it` }
    : unusable(`${OUTDATED}; recreate the pod`)
}

/** Whether admission left out a preferred volume that the node of the pod did not have. Volumes cannot be added later. */
function wasLeftOut(spec: PodSpec, { request, source, volume }: WantedVolume): boolean {
  const mayBe = volume.claims !== undefined || boundNode(spec) !== undefined
  if (!mayBe || request.enforcement !== 'Preferred') return false
  const sources = volume.claims?.map(({ claimName }) => ({ persistentVolumeClaim: { claimName } })) ?? [source]
  return !sources.some((one) => findVolume(spec.volumes ?? [], one))
}

/** Whether a controller creates a new pod when this one is deleted. */
function isReplaced({ metadata }: Pod): boolean {
  return metadata.ownerReferences?.some(({ controller }) => controller) ?? false
}

/** Whether an API server allows this change of a gated pod: each term must begin with its old requirements, and nothing else changes. */
function mayBecome(before: PodSpec, after: PodSpec): boolean {
  const { affinity: was, ...own } = before
  const { affinity: is, ...wanted } = after
  if (!jsonEqual(own, wanted)) return false
  const [terms = [], next = []] = [was, is].map((affinity) => requiredTermsOf(affinity?.nodeAffinity))
  return terms.length === 0 || (terms.length === next.length && terms.every((term, i) => begins(next[i] ?? {}, term)))
}

function begins(term: NodeSelectorTerm, withTerm: NodeSelectorTerm): boolean {
  const startsWith = (list: readonly unknown[] = [], head: readonly unknown[] = []) =>
    jsonEqual(list.slice(0, head.length), head)
  return (
    startsWith(term.matchExpressions, withTerm.matchExpressions) && startsWith(term.matchFields, withTerm.matchFields)
  )
}

/**
 * Plans for a gated pod. If its data is ready, the gate is removed. If its volumes have other data now, the pod is deleted, and its
 * controller creates a new one. A Job ceases to count the pod before. Without a controller, an Event asks the user to recreate the pod.
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
  if (reason === 'VolumesUnusable') return { actions: [event] }
  return { actions: isCounted(pod) ? [uncount(pod)] : [event, { kind: 'delete', type: pods, object: pod }] }
}

/** The finalizer of a pod that its Job has not counted yet (k8s.io/api, batch/v1 JobTrackingFinalizer). */
const JOB_FINALIZER = 'batch.kubernetes.io/job-tracking'

function isCounted({ metadata }: Pod): boolean {
  return metadata.finalizers?.includes(JOB_FINALIZER) ?? false
}

/** Whether the Job of a pod does not count it any more. It must not run: the Job would not notice its success, and run another one. */
function isUncounted(pod: Pod): boolean {
  const isOfJob = pod.metadata.ownerReferences?.some(
    ({ apiVersion, kind, controller }) => controller && kind === 'Job' && apiVersion === 'batch/v1',
  )
  return isOfJob === true && !isCounted(pod)
}

/**
 * Removes the finalizer of its Job from a pod. A Job counts each deleted pod with it as failed (pkg/controller/job, isPodFailed). So one change
 * of the data could end a Job with many pods. A pod without the finalizer is replaced and not counted.
 */
function uncount(pod: Pod): Action {
  const finalizers = pod.metadata.finalizers?.filter((finalizer) => finalizer !== JOB_FINALIZER)
  return patchOf(pods, pod, { metadata: { finalizers } })
}

function release(pod: Pod, { affinity }: PodSpec): Action {
  const rest = (pod.spec.schedulingGates ?? []).filter((gate) => gate.name !== VOLUMES_GATE)
  const spec = defined({
    schedulingGates: rest.length > 0 ? rest : null,
    affinity: affinity === pod.spec.affinity ? undefined : affinity,
  })
  return patchOf(pods, pod, { spec })
}
