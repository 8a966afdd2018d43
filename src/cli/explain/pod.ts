/** Explains a pod: the volumes that it requests, and why it waits for them. */
import { VOLUMES_ANNOTATION } from '../../api/lodestone.ts'
import { objectKey, referenceOf } from '../../api/meta.ts'
import { type Pod, pods } from '../../api/pod.ts'
import { type VolumeManager, volumeManagers } from '../../api/volume-manager.ts'
import { stringsAt, valuesAt } from '../../core/dependencies/json-path.ts'
import { decidePod } from '../../core/workload/decide-pod.ts'
import { isGated } from '../../core/workload/gate/plan-gate.ts'
import { type MountableVolumes, mountableVolumes } from '../../core/workload/injection/mountable-volumes.ts'
import { resolveRequests, type WantedVolume } from '../../core/workload/requests/resolve.ts'
import { type PlacedRequest, parseVolumeRequests } from '../../core/workload/requests/volume-requests.ts'
import { validatePodSpec } from '../../core/workload/validate.ts'
import { fitsNodeOf, isHub } from '../../queries/volumes.ts'
import { relatedKinds } from '../../store/kinds/cached-kinds.ts'
import { type Context, type Explainer, titleOf } from './target.ts'
import type { TreeNode } from './tree.ts'
import { readManager, replicaNode } from './volume.ts'
import { optionalPlacement } from './volume-manager.ts'
import { workloadExplainer } from './workload.ts'

export const podExplainer: Explainer = {
  reads: (kinds) => [...optionalPlacement, ...relatedKinds(kinds)],
  async explain(target, context) {
    // A hub runs no pods: Karmada propagates them as it does workloads.
    if (isHub(context.store)) return workloadExplainer.explain(target, context)
    const pod = await context.store.read(pods, target.namespace, target.name)
    return pod && explainPod(pod, context)
  },
}

async function explainPod(pod: Pod, context: Context): Promise<TreeNode> {
  const reference = referenceOf(pod)
  const invalid = validatePodSpec(pod.spec)
  if (invalid.length > 0) {
    const children = invalid.map(({ path, message }) => ({ text: `${path}: ${message}` }))
    return { ...reference, text: `${titleOf(reference)}: Invalid`, state: 'Invalid', children }
  }
  const annotation = pod.metadata.annotations?.[VOLUMES_ANNOTATION]
  const parsed = annotation === undefined ? { requests: [] } : parseVolumeRequests(annotation)
  const requests = 'requests' in parsed ? parsed.requests : []
  const managers = await readManagers(pod, requests, context)
  const decision = decisionOf(pod, managers, context)
  const { wanted } = resolveRequests(requests, lookup(managers, context))
  return {
    ...reference,
    text: `${titleOf(reference)}: ${decision.state}`,
    state: decision.state,
    children: [
      ...decision.lines,
      ...wanted.map((volume) => requestNode(volume, managers.get(volume.request.name), pod, context.now)),
      ...otherReasons(pod),
    ],
  }
}

/** Reads only the VolumeManagers that the pod names. */
async function readManagers(pod: Pod, requests: readonly PlacedRequest[], context: Context) {
  const names = [...new Set(requests.map(({ request }) => request.name))]
  const found = await Promise.all(names.map((name) => readManager(context, pod.metadata.namespace, name)))
  return new Map(found.flatMap((manager) => (manager ? [[manager.metadata.name ?? '', manager] as const] : [])))
}

function lookup(managers: ReadonlyMap<string, VolumeManager>, { config }: Context) {
  return (name: string): MountableVolumes | undefined => {
    const manager = managers.get(name)
    return manager && mountableVolumes(manager, config.volumes)
  }
}

/** The decision of admission. A pod that has a node or the gate was admitted already: then its current state counts. */
function decisionOf(
  pod: Pod,
  managers: ReadonlyMap<string, VolumeManager>,
  context: Context,
): { state: string; lines: TreeNode[] } {
  const { phase = 'Pending' } = pod.status ?? {}
  if (isGated(pod)) return { state: 'Gated', lines: [] }
  if (pod.spec.nodeName)
    return { state: phase, lines: [{ text: `on node ${pod.spec.nodeName}`, nodes: [pod.spec.nodeName] }] }
  const outcome = decidePod({
    pod,
    managers: lookup(managers, context),
    whenNotReady: context.config.volumes.whenNotReady,
    mayRun: fitsNodeOf(context.store, pod.spec),
    request: 'explain',
    isHub: false,
  })
  if (outcome.kind === 'deny') {
    return { state: 'Denied', lines: outcome.errors.map(({ path, message }) => ({ text: `${path}: ${message}` })) }
  }
  const { decision = 'NotSelected', reason } = outcome.auditAnnotations ?? {}
  const asks = pod.metadata.annotations?.[VOLUMES_ANNOTATION] !== undefined
  const none = asks ? 'admission ignores it: it lacks the label lodestone.dev/inject: "true"' : 'it requests no volumes'
  return { state: decision, lines: [{ text: reason ?? none }] }
}

/** A requested volume, how the pod mounts it, and while it is not ready its replicas. */
function requestNode(
  { request, volume, source }: WantedVolume,
  manager: VolumeManager | undefined,
  pod: Pod,
  now: number,
): TreeNode {
  const { namespace } = pod.metadata
  const status = manager?.status?.volumes?.find(({ id }) => id === volume.id)
  const place = source.hostPath?.path ?? source.persistentVolumeClaim?.claimName
  const at = request['mount-path'] ?? request.containers?.find((container) => container['mount-path'])?.['mount-path']
  const isWaiting = volume.state === 'Waiting'
  return {
    kind: volumeManagers.kind,
    ...(namespace && { namespace }),
    name: request.name,
    text: `VolumeManager ${objectKey(namespace, request.name)}, volume ${volume.id} (${request.enforcement ?? 'Required'}): ${volume.state}`,
    state: volume.state,
    nodes: volume.nodes,
    children: [
      ...(at && place ? [{ text: `mounted at ${at} from ${place}` }] : []),
      ...(volume.nodes.length > 0 ? [{ text: `on ${volume.nodes.join(', ')}`, nodes: volume.nodes }] : []),
      ...(isWaiting ? [{ text: volume.message || 'it has no status yet' }] : []),
      ...(isWaiting ? (status?.replicas ?? []).slice(0, 10).map((replica) => replicaNode(replica, now)) : []),
    ],
  }
}

/** Other scheduling gates, and what the scheduler says. */
function otherReasons({ spec, status }: Pod): TreeNode[] {
  const gates = (spec.schedulingGates ?? []).map(({ name }) => ({ text: `scheduling gate ${name}`, state: 'Gated' }))
  const unscheduled = valuesAt(status, 'conditions.*').find(
    (one) => stringsAt(one, 'type')[0] === 'PodScheduled' && stringsAt(one, 'status')[0] === 'False',
  )
  const [[reason], [message]] = [stringsAt(unscheduled, 'reason'), stringsAt(unscheduled, 'message')]
  if (reason === undefined || reason === 'SchedulingGated') return gates
  return [...gates, { text: `not scheduled: ${message ?? reason}`, reason }]
}
