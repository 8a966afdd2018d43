/** Objects around VolumeManagers for table tests: valid by default, with what matters to the case stated in the case. */
import { DISK_PREFIX, MOVER_TASK_ANNOTATION } from '../src/api/lodestone.ts'
import type { Node } from '../src/api/node.ts'
import type { Pod } from '../src/api/pod.ts'
import type { VolumeManager } from '../src/api/volume-manager.ts'
import type { DeletionStatus, ReplicaStatus } from '../src/api/volume-status.ts'
import { fnv1a } from '../src/base/hash.ts'
import { toTime } from '../src/base/time/timestamp.ts'
import type { MoverAllowance, VolumeManagerInput } from '../src/core/volume-manager/input.ts'
import { replicaMover } from '../src/core/volume-manager/mover/build.ts'
import { type MoverTask, readTask } from '../src/core/volume-manager/mover/task.ts'
import type { DiskReport } from '../src/core/volume-manager/nodes/disk.ts'
import { type ObservedVolume, observeVolumes } from '../src/core/volume-manager/observe.ts'
import type { EvictionInput } from '../src/core/volume-manager/plan-eviction.ts'
import type { DeletionObservation } from '../src/core/volume-manager/replica/deletion.ts'
import { makeVolume, makeVolumeManager, NOW } from './builders.ts'
import { PLATFORM, VOLUME_SETTINGS } from './volume-world.ts'

export const PATH = '/var/datasets/vck-resource-4b1d-0123456789abc'

/** The time `seconds` after NOW, as a status has it. */
export const at = (seconds: number) => toTime(NOW + seconds * 1000)

/** A replica that is ready on n1. */
export function makeReplica(more: Partial<ReplicaStatus> = {}): ReplicaStatus {
  return { index: 0, state: 'Ready', revision: 'r', path: PATH, node: 'n1', attempt: 1, since: at(0), ...more }
}

/** The observation of a deletion whose node is ready. It has no mover yet. */
export function makeDeletionObservation(more: Partial<DeletionObservation> = {}): DeletionObservation {
  return {
    mover: undefined,
    progress: undefined,
    retryTriggers: new Set(),
    nodeGone: false,
    labelled: false,
    users: [],
    isLeftover: false,
    nodeReady: true,
    claimed: false,
    evenInUse: false,
    writer: undefined,
    settings: VOLUME_SETTINGS,
    now: NOW,
    ...more,
  }
}

/** A deletion on n1 that waits. */
export function makeDeletion(more: Partial<DeletionStatus> = {}): DeletionStatus {
  return {
    index: 1,
    node: 'n1',
    path: PATH,
    nodeLabels: ['vck.intelai.org/4b1d-0123456789abc'],
    state: 'Waiting',
    revision: 'r',
    cause: 'ScaledDown',
    attempt: 1,
    since: at(0),
    ...more,
  }
}

/** A node that is ready, or is not since a time. */
export function makeNode(name: string, { labels = {}, uid = `uid-${name}`, unreadySince = '' } = {}): Node {
  const ready = unreadySince
    ? { type: 'Ready', status: 'Unknown', lastTransitionTime: unreadySince }
    : { type: 'Ready', status: 'True' }
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, uid, labels: { ...PLATFORM, ...labels } },
    status: { conditions: [ready] },
  }
}

/** The node n1 with the last report about the disk of `/var/datasets`, or with another text in its place. */
export function nodeWithDisk(report: DiskReport | string, node: Node = makeNode('n1')): Node {
  const text = typeof report === 'string' ? report : JSON.stringify(report)
  const annotations = { [DISK_PREFIX + fnv1a('/var/datasets')]: text }
  return { ...node, metadata: { ...node.metadata, annotations } }
}

/** The mover of the first attempt at replica 0 of default/sales, with what is given of its status. */
export function makeMover(more: Partial<ReplicaStatus> = {}, status: Pod['status'] = {}, nodeName?: string): Pod {
  const replica = makeReplica({ state: 'Queued', ...more })
  const pod = replicaMover({
    manager: makeVolumeManager(),
    config: makeVolume(),
    replica,
    placement: { affinity: undefined, withoutLabels: [], notOn: [] },
    slot: 0,
    settings: VOLUME_SETTINGS.movers,
    networks: [],
    localRoots: VOLUME_SETTINGS.localRoots,
  })
  return { ...pod, spec: { ...pod.spec, ...(nodeName && { nodeName }) }, status }
}

/** The mover as if its task were another one. */
export function asTask(task: Partial<MoverTask>, pod: Pod): Pod {
  const annotations = { [MOVER_TASK_ANNOTATION]: JSON.stringify({ ...readTask(pod), ...task }) }
  return { ...pod, metadata: { ...pod.metadata, annotations } }
}

/** These movers by name. */
export const moversOf = (...pods: Pod[]) => new Map(pods.map((pod) => [pod.metadata.name ?? '', pod]))

/** As many movers as `slots`, on these nodes or anywhere. */
export function makeAllowance(slots: number, active: readonly Pod[] = [], nodes = ['n1', 'n2', 'n3']): MoverAllowance {
  return { slots, onNodes: new Map(nodes.map((node) => [node, slots])), active }
}

interface InputParts extends Omit<Partial<VolumeManagerInput>, 'nodes' | 'movers'> {
  nodes?: readonly Node[]
  movers?: readonly Pod[]
}

/** The input of a plan for default/sales with the nodes n1 to n3, no movers, no pods and free slots. */
export function makeVolumeInput({ nodes, movers = [], ...more }: InputParts = {}): VolumeManagerInput {
  const all = nodes ?? ['n1', 'n2', 'n3'].map((name) => makeNode(name))
  const isOwn = (label: string) => label.startsWith('vck.intelai.org/')
  return {
    manager: makeVolumeManager(),
    isManaged: () => false,
    settings: VOLUME_SETTINGS,
    nodes: {
      get: (name) => all.find(({ metadata }) => metadata.name === name),
      all: () => all,
      labelled: () => all.filter(({ metadata }) => Object.keys(metadata.labels ?? {}).some(isOwn)),
    },
    movers: moversOf(...movers),
    refusals: new Map(),
    progress: new Map(),
    retryTriggers: new Map(),
    users: () => [],
    lastEnd: () => undefined,
    persistentVolumes: [],
    persistentVolumeClaims: [],
    exists: () => false,
    allowance: makeAllowance(10, movers),
    now: NOW,
    ...more,
  }
}

/** What the plan observes of a volume. */
export function observeVolume(input: VolumeManagerInput, id = 'vol1'): ObservedVolume {
  const observed = observeVolumes(input).find((volume) => volume.id === id)
  if (!observed) throw new Error(`neither spec, status nor movers have the volume ${id}`)
  return observed
}

/** The input of an eviction from the node `n1`, which has disk pressure. */
export function makeEvictionInput(
  managers: readonly VolumeManager[],
  more: Partial<EvictionInput> = {},
): EvictionInput {
  return {
    node: { ...makeNode('n1'), status: { conditions: [{ type: 'DiskPressure', status: 'True' }] } },
    managers,
    users: () => [],
    lastEnd: () => undefined,
    lastAt: undefined,
    now: NOW,
    collecting: new Set(),
    settings: VOLUME_SETTINGS,
    ...more,
  }
}
