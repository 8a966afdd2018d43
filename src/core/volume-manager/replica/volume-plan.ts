/** Plans one volume: steps its replicas and deletions, and arranges the wanted replicas. No mover is started yet. */
import type { Node } from '../../../api/node.ts'
import type { Pod } from '../../../api/pod.ts'
import type { VolumeConfig, VolumeManager } from '../../../api/volume-manager.ts'
import type { ReplicaStatus, VolumeStatus } from '../../../api/volume-status.ts'
import type { VolumeManagerInput } from '../input.ts'
import { mayDelete } from '../known-status.ts'
import { directoryOfMover } from '../mover/affinity.ts'
import { moversAtWork } from '../mover/task.ts'
import { allowsNode, isClosedTo, isLostNode, readNodeHealth, runsMovers } from '../nodes/feasibility.ts'
import { skippedAt } from '../nodes/leftovers.ts'
import type { MoverPod, ObservedVolume } from '../observe.ts'
import { isEnded } from '../pod-use.ts'
import { wantedReplicas } from '../rules/distribution.ts'
import { directoryOf, nodeLabelsFor } from '../rules/names.ts'
import { statusMessage } from '../rules/option-rules.ts'
import { sourceTypeOf } from '../rules/source-types.ts'
import { MAX_REPLICAS, storedProblems } from '../rules/volume-rules.ts'
import { isDeletedInUse } from './deletion.ts'
import { isReady, mayHaveData } from './download.ts'
import { stepDeletions, stepReplicas } from './replica.ts'
import {
  abandonNode,
  arrangeReplicas,
  type DropRules,
  deleteAll,
  type EveryNode,
  type ReplicaSet,
  type Wanted,
} from './replica-set.ts'
import { hasChanges, isConflict, keepsChanges, mayConflict, readSpecSource, type SpecSource } from './upload.ts'

export interface VolumePlan {
  id: string
  /** Undefined for a volume that is no longer in the spec. */
  config: VolumeConfig | undefined
  /** The config when it is valid; undefined when no mover can be created for the volume. */
  moverConfig: VolumeConfig | undefined
  before: VolumeStatus | undefined
  set: ReplicaSet
  /** Undefined when the data is to be deleted, or the spec is invalid. */
  wanted: Wanted | undefined
  /** Why the spec of the volume is invalid. */
  problems: string[]
  /** Why there cannot be as many replicas as wanted. */
  shortage: string | undefined
  /** The Pods of all its movers. */
  movers: readonly MoverPod[]
  /** Movers whose result the status does not expect. They are deleted. */
  orphans: Pod[]
  /** Those orphans that may still run. */
  stopping: Pod[]
}

/** Plans a volume. `goal` is whether the VolumeManager keeps its data or deletes all of it. */
export function planVolume(
  input: VolumeManagerInput,
  observed: ObservedVolume,
  config: VolumeConfig | undefined,
  goal: 'present' | 'deleted',
): VolumePlan {
  const { manager, settings, now } = input
  const { id, before, pods: movers } = observed
  const isWanted = config !== undefined && goal === 'present'
  const faults = config ? storedProblems(config, settings) : []
  const problems = isWanted ? faults.map(statusMessage) : []
  const stepped = stepReplicas(observed, config, { isValid: faults.length === 0, evenChanged: isDeletedInUse(manager) })
  const wanted = isWanted && problems.length === 0 ? wantedArrangement(input, config, stepped.replicas) : undefined
  const kept = isWanted ? stepped : deleteAll(stepped, dropRules(manager, id, readSpecSource(config)), now)
  const arranged = wanted ? arrangeReplicas(stepped, wanted, now) : kept
  const unexpectedMovers = (set: ReplicaSet) => {
    const awaited = new Set(moversAtWork(manager, { id, ...set }))
    return movers.filter(({ pod }) => !awaited.has(pod.metadata.name ?? ''))
  }
  const accounted = unexpectedMovers(arranged).reduce((set, mover) => deleteWritten(set, mover, input), arranged)
  const set = stepDeletions(observed, accounted)
  const orphans = unexpectedMovers(set).map(({ pod }) => pod)
  return {
    id,
    config,
    moverConfig: faults.length > 0 ? undefined : config,
    before,
    set,
    wanted,
    problems,
    shortage: wanted && config && nodeShortage(input, config, wanted),
    movers,
    orphans,
    stopping: orphans.filter((pod) => mayRun(pod, input)),
  }
}

/**
 * Whether a mover that is to be deleted may still run. Its Pod stays until its kubelet reports the end. A node that does not exist reports
 * none, and the deletion of a VolumeManager does not wait for a node that is not ready.
 */
function mayRun(
  { metadata, spec, status }: Pod,
  { manager, nodes, settings, now, jumps }: VolumeManagerInput,
): boolean {
  const name = spec?.nodeName
  if (name === undefined || metadata.deletionTimestamp === undefined) return true
  // Only a finalizer keeps its Pod.
  if (isEnded(status)) return false
  const node = nodes.get(name)
  if (node === undefined) return false
  const { deletionTimestamp } = manager.metadata
  if (deletionTimestamp === undefined) return true
  const at = skippedAt(node, { settings, deletionTimestamp, now, jumps })
  return at === undefined || now < at
}

/** Whether the data of a replica is complete on its node, which may be not ready. */
function isComplete(replica: ReplicaStatus): boolean {
  return isReady(replica) || replica.state === 'Unreachable'
}

/**
 * A replica with changes that are not written back yet must stay, unless an annotation allows its deletion. A conflict stays until the
 * status has named it. A replica with the wanted data stays until a user has resolved its conflict. No other replica has that conflict in its
 * status, such as the replica that replaced this one while its node was lost.
 */
function dropRules(
  manager: VolumeManager,
  id: string,
  source: SpecSource | undefined,
  wantedRevision?: string,
): DropRules {
  const known = manager.status?.volumes?.find((volume) => volume.id === id)?.replicas ?? []
  const isNamed = ({ index }: ReplicaStatus) => known.some((one) => one.index === index && isConflict(one))
  const mustShowConflict = (replica: ReplicaStatus) =>
    replica.revision === wantedRevision ? mayConflict(replica) : isConflict(replica) && !isNamed(replica)
  return {
    labelsOf: nodeLabelsFor(manager, id),
    mustStay: (replica) =>
      keepsChanges(replica, source) &&
      (isComplete(replica) || mayHaveData(replica)) &&
      (hasChanges(replica) || mustShowConflict(replica)) &&
      !isDeletedInUse(manager),
  }
}

function wantedArrangement(
  input: VolumeManagerInput,
  config: VolumeConfig,
  replicas: readonly ReplicaStatus[],
): Wanted {
  const { manager, nodes, settings } = input
  const { delivery } = sourceTypeOf(config.sourceType)
  const isOnNodes = delivery !== 'mounted'
  const isOn = (name: string, isAllowed: (node: Node) => boolean) => {
    const node = nodes.get(name)
    return !isOnNodes || node === undefined || isAllowed(node)
  }
  const everyNode = delivery === 'moved' && config.onEveryNode ? countEveryNode(input, config, replicas) : undefined
  const mayRun = (node: Node) => runsMovers(node, settings.movers.architectures)
  const source = readSpecSource(config)
  return {
    revision: source.revision,
    ...wantedPlaces(input, config),
    ...(everyNode ? { everyNode, counts: new Map([[undefined, everyNode.replicas]]) } : {}),
    allows: (name) => isOn(name, (node) => allowsNode(config.nodeAffinity, node)),
    admits: (name) => isOn(name, (node) => mayRun(node) && !isClosedTo(config.tolerations, node)),
    isLost: delivery === 'moved' && everyNode === undefined ? lostNodes(input, config, replicas) : () => false,
    ...dropRules(manager, config.id, source, source.revision),
  }
}

/**
 * Returns whether a node is lost. Its kubelet does not end the mover there, so no other one would start. A node is not lost while no other node can
 * take the data: perhaps no node reaches the API server.
 */
function lostNodes(
  input: VolumeManagerInput,
  config: VolumeConfig,
  replicas: readonly ReplicaStatus[],
): (name: string) => boolean {
  const { nodes, settings } = input
  const taken = new Set(replicas.map(({ node }) => node))
  const isFree = (node: Node) =>
    !taken.has(node.metadata.name) && allowsNode(config.nodeAffinity, node) && canTake(config, node, settings)
  let hasFree: boolean | undefined
  return (name) => {
    const node = nodes.get(name)
    if (node === undefined || !isLostNode(node, input)) return false
    hasFree ??= [...nodes.all()].some(isFree)
    return hasFree
  }
}

/** Whether a mover of the volume can be scheduled to a node now, apart from its affinity. */
function canTake({ tolerations }: VolumeConfig, node: Node, { movers }: VolumeManagerInput['settings']): boolean {
  return readNodeHealth(node).isReady && runsMovers(node, movers.architectures) && !isClosedTo(tolerations, node)
}

/** The directory of the data, and the number of replicas of each shard. */
function wantedPlaces(input: VolumeManagerInput, config: VolumeConfig): Pick<Wanted, 'path' | 'counts'> {
  switch (sourceTypeOf(config.sourceType).delivery) {
    case 'moved':
      return { path: directoryOf(input.manager, config), counts: wantedReplicas(config) }
    case 'mounted':
      // One mover checks that the data can be mounted.
      return { path: undefined, counts: new Map([[undefined, 1]]) }
    default: {
      // A mover checks the directory on every node that may have it: pods may go to any of them.
      return {
        path: config.options?.['path'],
        counts: new Map([[undefined, allowedNodes(input, config, MAX_REPLICAS)]]),
      }
    }
  }
}

/** The number of nodes that the affinity allows and on which movers run. It stops counting at `enough`. */
function allowedNodes({ nodes, settings }: VolumeManagerInput, { nodeAffinity }: VolumeConfig, enough: number): number {
  let allowed = 0
  for (const node of nodes.all()) {
    if (allowed >= enough) break
    if (allowsNode(nodeAffinity, node) && runsMovers(node, settings.movers.architectures)) allowed++
  }
  return allowed
}

/**
 * Counts the nodes that may have the data: those that can take it now, and those that have a replica. A node that is not ready keeps its
 * replica until the node counts as lost. The volumes of a VolumeManager share a limit, because they share one status.
 */
export function countEveryNode(
  { manager, nodes, settings }: Pick<VolumeManagerInput, 'manager' | 'nodes' | 'settings'>,
  config: VolumeConfig,
  replicas: readonly ReplicaStatus[],
): EveryNode {
  const placed = new Set(replicas.filter(({ state }) => state !== 'Unreachable').map(({ node }) => node))
  let count = 0
  for (const node of nodes.all()) {
    if (!allowsNode(config.nodeAffinity, node)) continue
    if (canTake(config, node, settings) || placed.has(node.metadata.name)) count++
  }
  const sharing = manager.spec.volumeConfigs.filter(({ onEveryNode }) => onEveryNode).length
  const limit = Math.max(1, Math.floor(MAX_REPLICAS / sharing))
  return { replicas: Math.min(limit, Math.max(1, count)), beyond: Math.max(0, count - limit) }
}

/** VCK's message when fewer nodes are allowed than replicas are wanted; undefined when there are enough nodes. */
function nodeShortage(input: VolumeManagerInput, config: VolumeConfig, wanted: Wanted): string | undefined {
  const { delivery } = sourceTypeOf(config.sourceType)
  if (delivery === 'mounted') return undefined
  const moved = [...wanted.counts.values()].reduce((sum, one) => sum + one, 0)
  const count = delivery === 'present' ? (config.replicas ?? 1) : moved
  const allowed = allowedNodes(input, config, count)
  if (allowed >= count) return undefined
  return `replicas [${count}] greater than number of nodes [${allowed}]`
}

/** Adds a deletion for data that an orphaned mover may have written to its node. */
function deleteWritten(set: ReplicaSet, { pod, task }: MoverPod, input: VolumeManagerInput): ReplicaSet {
  const node = pod.spec?.nodeName
  const path = directoryOfMover(pod)
  if (node === undefined || path === undefined || task.role !== 'replica' || !mayDelete(path, input)) return set
  const isKnown = set.replicas.some((replica: ReplicaStatus) => replica.node === node && replica.path === path)
  return isKnown ? set : abandonNode(set, { node, path, revision: '' }, input.now)
}
