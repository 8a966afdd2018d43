/** Decides where the mover of a replica may run, and takes a per-node slot for it. */
import { MOVER_LABEL } from '../../../api/lodestone.ts'
import type { Pod } from '../../../api/pod.ts'
import type { ReplicaStatus } from '../../../api/volume-status.ts'
import type { FailureCode, MoverVerb } from '../../mover-contract/contract.ts'
import type { MESSAGES } from '../codes.ts'
import type { VolumeManagerInput } from '../input.ts'
import { directoryOfMover, isUnschedulable, type MoverPlacement, nodeOfMover } from '../mover/affinity.ts'
import { findRoot, nodesWithoutRoom, replicaSize } from '../nodes/disk.ts'
import { allowsNode, isLostNode, readNodeHealth, runsMovers, toleratesNode } from '../nodes/feasibility.ts'
import type { MoverPod } from '../observe.ts'
import { isEnded } from '../pod-use.ts'
import { nodesToAvoid } from '../replica/node-failures.ts'
import type { VolumePlan } from '../replica/volume-plan.ts'
import { sourceTypeOf } from '../rules/source-types.ts'
import { fromTime } from '../time.ts'
import type { NodeSlots } from './slots.ts'

/**
 * Whether the scheduler has yet to place a mover of the same data. Only one mover at a time waits for its node, since the scheduler ignores
 * movers that have ended. Otherwise two quick movers could run on one node, the second before the node has its label.
 */
export function searchState({ movers, wanted }: VolumePlan): 'idle' | 'searching' | 'unschedulable' {
  const unplaced = moversTo(movers, wanted?.path).filter(
    (pod) => !isEnded(pod.status) && nodeOfMover(pod) === undefined,
  )
  if (unplaced.length === 0) return 'idle'
  return unplaced.some(isUnschedulable) ? 'unschedulable' : 'searching'
}

/** The movers that download the data of a volume to this directory of any node. */
function moversTo(movers: readonly MoverPod[], path: string | undefined): Pod[] {
  return movers.flatMap(({ pod, task }) => (task.role === 'replica' && directoryOfMover(pod) === path ? [pod] : []))
}

/**
 * Where the mover of a replica may run; undefined when it may not start now. Nodes on which its movers failed come last.
 *
 * @param active the movers of all VolumeManagers that have not ended
 */
export function placeMover(
  replica: ReplicaStatus,
  plan: VolumePlan,
  input: VolumeManagerInput,
  slots: NodeSlots,
  active: readonly Pod[] = [],
): MoverPlacement | undefined {
  const { config, set, wanted, movers } = plan
  const deleting = set.deletions.filter(({ path }) => path === replica.path).map(({ node }) => node)
  if (replica.node !== undefined) return deleting.includes(replica.node) ? undefined : { on: replica.node }
  if (wanted?.path === undefined) return { affinity: config?.nodeAffinity, withoutLabels: [], notOn: [] }
  // Nodes with the data are excluded by their label. A node that does not have its label yet is excluded by name.
  const unlabelled = set.replicas
    .filter((one) => one.path === replica.path && one.node !== undefined && !hasLabels(one, plan, input))
    .flatMap(({ node }) => node ?? [])
  const moving = moversTo(movers, replica.path).flatMap((pod) => nodeOfMover(pod) ?? [])
  const { shard: _, ...whole } = replica
  const taken = [...deleting, ...unlabelled, ...moving, ...sharedDisks(replica, input, active)]
  const small = tooSmall(replica, plan, input, taken)
  const excluded = [...taken, ...small]
  const { nodeFailures } = replica
  const avoided = nodeFailures ? nodesToAvoid(nodeFailures, freeNodes(plan, input, slots, excluded), input.now) : []
  return {
    affinity: config?.nodeAffinity,
    withoutLabels: wanted.labelsOf(whole),
    notOn: [...new Set([...excluded, ...avoided])].sort(),
  }
}

/**
 * The nodes to whose disk another mover downloads, for data that filled a disk. Its mover began with enough room, so the disk was filled by both, and
 * both failed. Together, they would do so again and again. A mover without a node may come to any of them.
 */
function sharedDisks(replica: ReplicaStatus, input: VolumeManagerInput, active: readonly Pod[]): string[] {
  const { nodeFailures = [], path = '' } = replica
  const hasFilled = nodeFailures.some(({ reason, bytes = 0 }) => reason === NO_SPACE && bytes > 0)
  if (!hasFilled || isWaitOver(replica, input)) return []
  const { allowedRoots } = input.settings
  const root = findRoot(path, allowedRoots)
  const others = active.filter(
    (pod) =>
      pod.metadata.labels?.[MOVER_LABEL] === DOWNLOAD && findRoot(directoryOfMover(pod) ?? '', allowedRoots) === root,
  )
  const nodes = others.flatMap((pod) => nodeOfMover(pod) ?? [])
  const isAnyUnplaced = others.some((pod) => nodeOfMover(pod) === undefined && !isUnschedulable(pod))
  return isAnyUnplaced ? [...input.nodes.all()].flatMap(({ metadata }) => metadata.name ?? []) : nodes
}

const NO_SPACE = 'NoSpace' satisfies FailureCode
const DOWNLOAD = 'download' satisfies MoverVerb

/** How often the wait for other downloads doubles at most. */
const MAX_DOUBLINGS = 3

/** Whether a replica has waited so long for other downloads that it begins beside them: they may be slow. Each failure doubles the wait. */
function isWaitOver({ since, failures = 0 }: ReplicaStatus, { settings, now, jumps }: VolumeManagerInput): boolean {
  const waitMs = settings.movers.preemptAfterSeconds * 1000 * 2 ** Math.min(failures, MAX_DOUBLINGS)
  return now - (fromTime(since, jumps) ?? now) >= waitMs
}

/**
 * The nodes on which the data does not fit, as long as it may fit on another one. If it fits on none, the mover reports what is missing, and
 * unused data is evicted for it.
 */
function tooSmall(
  replica: ReplicaStatus,
  plan: VolumePlan,
  input: VolumeManagerInput,
  taken: readonly string[],
): string[] {
  const { path } = replica
  if (path === undefined) return []
  const names = freeNodes(plan, input, ANY_SLOT, taken)
  const candidates = [...names].flatMap((name) => input.nodes.get(name) ?? [])
  const bytes = replicaSize(replica, plan.config, plan.set.replicas)
  const small = nodesWithoutRoom(candidates, { path, bytes }, input.settings)
  return small.length < candidates.length ? small : []
}

/** A node whose slots are all occupied can take the replica later. */
const ANY_SLOT: Pick<NodeSlots, 'isFull'> = { isFull: () => false }

function hasLabels(replica: ReplicaStatus, { wanted }: VolumePlan, { nodes }: VolumeManagerInput): boolean {
  const labels = replica.node === undefined ? {} : nodes.get(replica.node)?.metadata.labels
  return wanted?.labelsOf(replica).every((label) => labels?.[label] !== undefined) ?? false
}

/**
 * Takes a slot for a mover that may run on any of several nodes; undefined when there is none. Without such a node, the mover would only
 * wait and occupy a slot.
 */
export function slotAmong(
  { notOn }: Pick<Exclude<MoverPlacement, { on: string }>, 'notOn'>,
  plan: VolumePlan,
  input: VolumeManagerInput,
  slots: NodeSlots,
): number | undefined {
  return slots.takeAmong(freeNodes(plan, input, slots, notOn))
}

/**
 * Takes a slot for a mover that waits for a node which an autoscaler adds: it adds one only for a Pod that is Pending. Undefined if a node can take
 * the replica, now or later, or if no node is awaited. A replica asks for it after it was found to have no node, so other replicas go first.
 *
 * @param others the number of movers that have not ended. Movers that wait together get different slots, so that one new node can take them.
 */
export function slotOnNewNode(
  replica: ReplicaStatus,
  plan: VolumePlan,
  input: VolumeManagerInput,
  others: number,
): number | undefined {
  const { maxPerNode, awaitNewNodes } = input.settings.movers
  if (!awaitNewNodes || replica.reason !== NO_NODE || mayHaveNode(replica, plan, input)) return undefined
  return others % maxPerNode
}

const NO_NODE = 'NoNode' satisfies keyof typeof MESSAGES

/** Whether a node of the cluster can take a replica, also later, when it is ready again or has a free slot. */
function mayHaveNode({ path }: ReplicaStatus, { config, set, wanted }: VolumePlan, input: VolumeManagerInput): boolean {
  if (path === undefined || wanted === undefined || wanted.everyNode !== undefined) return true
  if (sourceTypeOf(config?.sourceType ?? '').delivery !== 'moved') return true
  const taken = new Set(set.replicas.flatMap((one) => (one.path === path ? (one.node ?? []) : [])))
  return [...input.nodes.all()].some((node) => {
    const { name = '' } = node.metadata
    return !taken.has(name) && wanted.allows(name) && wanted.admits(name) && !isLostNode(node, input)
  })
}

/** The nodes that could run the mover of a replica now. */
function freeNodes(
  { config, set, wanted }: VolumePlan,
  { nodes, settings }: VolumeManagerInput,
  slots: Pick<NodeSlots, 'isFull'>,
  notOn: readonly string[],
): Set<string> {
  const path = wanted?.path
  const here = path === undefined ? [] : [...set.replicas, ...set.deletions].filter((one) => one.path === path)
  const taken = new Set([...notOn, ...here.flatMap(({ node }) => node ?? [])])
  const free = new Set<string>()
  for (const node of nodes.all()) {
    const { name = '' } = node.metadata
    if (taken.has(name) || slots.isFull(name)) continue
    const isAllowed = allowsNode(config?.nodeAffinity, node) && toleratesNode(config?.tolerations, node)
    if (readNodeHealth(node).isReady && isAllowed && runsMovers(node, settings.movers.architectures)) free.add(name)
  }
  return free
}
