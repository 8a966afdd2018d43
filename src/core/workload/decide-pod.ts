/** Decides on a pod that requests volumes: inject them, gate the pod until they are ready, or reject it. */
import { INJECT_LABEL, VOLUMES_ANNOTATION, VOLUMES_GATE } from '../../api/lodestone.ts'
import { requiredTermsOf } from '../../api/node.ts'
import type { Pod, PodSpec } from '../../api/pod.ts'
import type { FieldError } from '../../base/field-errors.ts'
import { defined } from '../../base/json.ts'
import { cut, type Outcome } from '../outcome.ts'
import type { AuditDecision } from '../signal-tables.ts'
import { chooseClaims } from './injection/claims.ts'
import { injectVolumes } from './injection/inject.ts'
import type { VolumeManagerLookup } from './injection/mountable-volumes.ts'
import { unknownContainers } from './injection/mounts.ts'
import { pinnedNode } from './node-affinity/affinity.ts'
import { operatingSystemErrors } from './node-affinity/operating-system.ts'
import { mistypedAnnotations } from './requests/annotation-keys.ts'
import { mountCountErrors } from './requests/limits.ts'
import {
  MAX_REASON_LENGTH,
  resolveRequests,
  separateVolumes,
  volumeNames,
  type WantedVolume,
} from './requests/resolve.ts'
import { type PlacedRequest, parseVolumeRequests } from './requests/volume-requests.ts'

/** The treatment of a pod whose data is not ready: it gets a scheduling gate, or it is rejected and has to be created again. */
export type WhenNotReady = 'gate' | 'refuse'

export interface PodInput {
  pod: Pod
  managers: VolumeManagerLookup
  whenNotReady: WhenNotReady
  /** Whether the pod may run on a node; true for a node that is not known. */
  mayRun(node: string): boolean
  /** The uid of the request: it identifies a pod that has no name yet. */
  request: string
  /** Pods do not run on a hub: admission in the member clusters injects their volumes. */
  isHub: boolean
}

/** The annotation of mirror pods, which represent the static pods of a node (k8s.io/api, core/v1 MirrorPodAnnotationKey). */
export const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror'

/** Whether a pod represents a static pod of a node, which admission cannot change. */
export function isMirror({ metadata }: Pod): boolean {
  return metadata.annotations?.[MIRROR_ANNOTATION] !== undefined
}

/** Whether admission decides on the volumes of a pod: it has the label, and represents no static pod. */
export function isInjected(pod: Pod): boolean {
  return pod.metadata.labels?.[INJECT_LABEL] === 'true' && !isMirror(pod)
}

/** Decides on a new pod with the label `lodestone.dev/inject: "true"`. The volumes of a pod cannot be changed after its creation. */
export function decidePod(input: PodInput): Outcome {
  const { pod, isHub } = input
  const { annotations } = pod.metadata
  if (!isInjected(pod)) return { kind: 'allow' }
  const annotation = annotations?.[VOLUMES_ANNOTATION]
  if (annotation === undefined) {
    const mistyped = mistypedAnnotations(annotations)
    const missing = `lodestone: label ${INJECT_LABEL} without annotation ${VOLUMES_ANNOTATION}`
    return { kind: 'allow', warnings: mistyped.length > 0 ? mistyped : [missing] }
  }
  const parsed = parseVolumeRequests(annotation)
  if ('errors' in parsed) return { kind: 'deny', errors: parsed.errors }
  const { requests } = parsed
  const tooMany = mountCountErrors(`metadata.annotations[${VOLUMES_ANNOTATION}]`, [{ spec: pod.spec, requests }])
  if (tooMany.length > 0) return { kind: 'deny', errors: tooMany }
  return isHub ? checkOnly(pod, requests) : injectInto(input, requests)
}

function checkOnly({ spec }: Pod, requests: readonly PlacedRequest[]): Outcome {
  const containers = [...spec.containers, ...(spec.initContainers ?? [])]
  const errors = [...operatingSystemErrors(spec), ...unknownContainers(containers, requests)]
  return errors.length > 0 ? { kind: 'deny', errors } : { kind: 'allow' }
}

function injectInto(
  { pod, managers, whenNotReady, mayRun, request }: PodInput,
  requests: readonly PlacedRequest[],
): Outcome {
  const { wanted: all, errors, unusable } = resolveRequests(requests, managers)
  const node = boundNode(pod.spec)
  const present = all.filter((volume) => !isLeftOut(node, volume))
  const wanted = chooseClaims(present, pod.spec, { node, mayRun, seed: replicaSeed(pod, request) })
  const injected = injectVolumes(pod.spec, wanted)
  const waiting = wanted.filter(mustWait)
  const isGated = whenNotReady === 'gate' && waiting.length > 0
  // Evicted data returns only when a pod waits for it. Without a gate, the scheduler finds no node: none has the label of the data.
  const mayWait = ({ volume }: WantedVolume) => !pod.spec.nodeName && (isGated || volume.isEvicted)
  const wrong = [
    ...operatingSystemErrors(pod.spec),
    ...errors,
    ...unusable,
    ...('errors' in injected ? injected.errors : []),
    ...wanted.flatMap((volume) => absentFrom(node, volume)),
    ...waiting.filter((volume) => !mayWait(volume)).map(tryAgain),
  ]
  if (wrong.length > 0 || 'errors' in injected) return { kind: 'deny', errors: wrong }
  const spec = isGated ? withGate(injected.spec) : injected.spec
  const leftOut = all.filter(({ path }) => !wanted.some((volume) => volume.path === path))
  const [decision, text]: [AuditDecision, string] =
    waiting.length > 0
      ? [isGated ? 'Gated' : 'Injected', `waits for ${volumeTitles(waiting)}`]
      : wanted.length > 0
        ? ['Injected', `has ${volumeTitles(wanted)}`]
        : ['LeftOut', leftOutText(node, leftOut)]
  const reason = cut(text, MAX_REASON_LENGTH)
  const warnings = [
    ...(waiting.length > 0 ? [cut(`lodestone: ${reason}`)] : []),
    ...(leftOut.length > 0 ? [cut(`lodestone: ${leftOutText(node, leftOut)}`)] : []),
    ...separateVolumes(present).map((text) => cut(`lodestone: ${text}`)),
    ...undecidedShards(wanted),
    ...deniedWrites(wanted),
  ]
  return defined({
    kind: 'patch',
    object: { ...pod, spec } as Pod,
    warnings: warnings.length > 0 ? warnings : undefined,
    auditAnnotations: { decision, reason },
  })
}

/** Whether the pod must wait for a volume. A pod does not wait for a preferred volume. */
export function mustWait({ request, volume }: WantedVolume): boolean {
  return volume.state === 'Waiting' && request.enforcement !== 'Preferred'
}

function withGate(spec: PodSpec): PodSpec {
  const gates = spec.schedulingGates ?? []
  if (gates.some(({ name }) => name === VOLUMES_GATE)) return spec
  return { ...spec, schedulingGates: [...gates, { name: VOLUMES_GATE }] }
}

function tryAgain({ path, request, volume }: WantedVolume): FieldError {
  const state = volume.message === '' ? '' : ` (${cut(volume.message, MAX_REASON_LENGTH)})`
  const wait = `kubectl wait --for=jsonpath='{.status.state}'=Running volumemanager/${request.name}`
  return {
    path,
    code: 'Invalid',
    message: `volume ${volume.id} of VolumeManager ${request.name} is not ready yet${state}; retry after ${wait}`,
  }
}

/** Returns the node that a pod is bound to. No scheduler checks whether that node has the data. */
export function boundNode({ nodeName, affinity }: PodSpec): string | undefined {
  if (nodeName) return nodeName
  return pinnedNode(requiredTermsOf(affinity?.nodeAffinity))
}

/** The labels with the number of a pod in its StatefulSet or indexed Job (k8s.io/api, apps/v1 and batch/v1). */
const INDEX_LABELS = ['apps.kubernetes.io/pod-index', 'batch.kubernetes.io/job-completion-index']

/** What spreads the pods of a workload over replicas: the number of the pod, its name, or the request if it has neither. */
function replicaSeed({ metadata: { name, labels = {} } }: Pod, request: string): string {
  return INDEX_LABELS.map((label) => labels[label]).find((index) => index !== undefined) ?? (name || request)
}

function leftOutText(node: string | undefined, leftOut: readonly WantedVolume[]): string {
  const why = node === undefined ? 'no node that it may run on has it' : `node ${node} does not have it`
  return `runs without ${volumeTitles(leftOut)}: ${why}`
}

/**
 * Whether a pod that is bound to a node, as by a DaemonSet, runs without a preferred volume: the data is not on that node. An empty
 * directory in its place would keep the data from that node. Without known nodes of a ready volume, nothing is left out.
 */
function isLeftOut(node: string | undefined, { request, volume: { state, nodes } }: WantedVolume): boolean {
  if (node === undefined || request.enforcement !== 'Preferred') return false
  return !nodes.includes(node) && (state === 'Waiting' || nodes.length > 0)
}

/** Returns an error if the node does not have the data. Without known nodes of the volume, nothing is checked. */
function absentFrom(node: string | undefined, { path, request, volume }: WantedVolume): FieldError[] {
  if (node === undefined || request.enforcement === 'Preferred') return []
  if (volume.state === 'Waiting' || volume.nodes.length === 0 || volume.nodes.includes(node)) return []
  const message = `the pod has to run on node ${node}, but volume ${volume.id} of VolumeManager ${request.name} is on ${volume.nodes.join(', ')}; allow only these nodes, or request it with enforcement Preferred`
  return [{ path, code: 'Invalid', message }]
}

/** Warns about a divided volume in a request without a shard: every node with any shard of the data matches. */
function undecidedShards(wanted: readonly WantedVolume[]): string[] {
  return wanted
    .filter(({ request, volume }) => request.shard === undefined && volume.shards().length > 0)
    .map(({ request, volume }) => {
      const names = volume
        .shards()
        .map(({ name }) => name)
        .join(', ')
      return cut(
        `lodestone: ${request.name}/${volume.id} is divided; set shard to the one that the pod needs: ${names}`,
      )
    })
}

/** Warns about a read-only volume that the pod requests as writable. */
function deniedWrites(wanted: readonly WantedVolume[]): string[] {
  return wanted
    .filter(({ request, volume }) => request.readOnly === false && volume.readOnly)
    .map(({ request, volume }) =>
      cut(`lodestone: ${request.name}/${volume.id} is read-only; all of its mounts are read-only`),
    )
}

/** The names of volumes for messages, e.g. `VolumeManager weights/bert`. */
export function volumeTitles(wanted: readonly WantedVolume[]): string {
  return `VolumeManager ${volumeNames(wanted)}`
}

/** Returns the pod with the label; if it requests no volumes, the outcome with warnings about mistyped annotations. */
export function completePod(pod: Pod): { pod: Pod } | { outcome: Outcome } {
  const { labels, annotations } = pod.metadata
  if (labels?.[INJECT_LABEL] === undefined && annotations?.[VOLUMES_ANNOTATION] !== undefined) {
    return { pod: { ...pod, metadata: { ...pod.metadata, labels: { ...labels, [INJECT_LABEL]: 'true' } } } }
  }
  const warnings = mistypedAnnotations(annotations)
  return { outcome: defined({ kind: 'allow', warnings: warnings.length > 0 ? warnings : undefined }) }
}
