/** Where the mover of a replica may run, and whether there is room for it. */
import type { Pod } from '../../../api/pod.ts'
import type { ReplicaStatus } from '../../../api/volume-manager.ts'
import type { VolumeManagerInput } from '../input.ts'
import type { Placement } from '../mover/affinity.ts'
import { directoryOfMover, isUnschedulable, nodeOfMover } from '../mover/place.ts'
import { readTask } from '../mover/task.ts'
import { isEnded } from '../replica/pod-use.ts'
import type { VolumeDraft } from '../replica/volume-plan.ts'
import { allowsNode } from './node-affinity.ts'
import { healthOf } from './node-health.ts'
import type { Lanes } from './slots.ts'

/**
 * Whether a mover of the same data is still to be placed. One at a time: a mover that has ended is nobody to keep away from for the
 * scheduler, so a quick one and the next could meet on a node before it has its label.
 */
export function lookingForNode(
  { id, wanted }: VolumeDraft,
  { movers }: VolumeManagerInput,
): 'nobody' | 'somebody' | 'unschedulable' {
  const unplaced = [...moversTo(movers, id, wanted?.path)].filter(
    (pod) => !isEnded(pod.status) && nodeOfMover(pod) === undefined,
  )
  if (unplaced.length === 0) return 'nobody'
  return unplaced.some(isUnschedulable) ? 'unschedulable' : 'somebody'
}

/** The movers that bring a volume's data to this directory of whatever node. */
function moversTo(movers: VolumeManagerInput['movers'], id: string, path: string | undefined): Pod[] {
  return [...movers.values()].filter((pod) => {
    const task = readTask(pod)
    return task?.id === id && task.role === 'replica' && directoryOfMover(pod) === path
  })
}

/** Where the replica's mover may run; undefined when that is nowhere right now. */
export function placementOf(
  replica: ReplicaStatus,
  draft: VolumeDraft,
  input: VolumeManagerInput,
): Placement | undefined {
  const { config, set, wanted, id } = draft
  const releasing = set.releases.filter(({ path }) => path === replica.path).map(({ node }) => node)
  if (replica.node !== undefined) return releasing.includes(replica.node) ? undefined : { on: replica.node }
  if (wanted?.path === undefined) return { affinity: config?.nodeAffinity, withoutLabels: [], notOn: [] }
  // The label keeps movers from nodes that have the data; where it is still on its way, the name does.
  const unlabelled = set.replicas
    .filter((one) => one.path === replica.path && one.node !== undefined && !hasLabel(one, draft, input))
    .flatMap(({ node }) => node ?? [])
  const moving = moversTo(input.movers, id, replica.path).flatMap((pod) => nodeOfMover(pod) ?? [])
  const { shard: _, ...whole } = replica
  return {
    affinity: config?.nodeAffinity,
    withoutLabels: wanted.labelsOf(whole),
    notOn: [...new Set([...releasing, ...unlabelled, ...moving])].sort(),
  }
}

function hasLabel(replica: ReplicaStatus, { wanted }: VolumeDraft, { nodes }: VolumeManagerInput): boolean {
  const labels = replica.node === undefined ? {} : nodes.get(replica.node)?.metadata.labels
  return wanted?.labelsOf(replica).every((label) => labels?.[label] !== undefined) ?? false
}

/** A lane on a node that could take it: a mover for which there is no node would only wait, and hold a slot. */
export function laneFor(
  placement: Placement,
  draft: VolumeDraft,
  input: VolumeManagerInput,
  lanes: Lanes,
): number | undefined {
  return 'on' in placement
    ? lanes.takeOn(placement.on)
    : lanes.takeAmong(freeNodes(draft, input, lanes, placement.notOn))
}

/** The nodes that could take a replica now. */
function freeNodes(
  { config, set, wanted }: VolumeDraft,
  { nodes }: VolumeManagerInput,
  lanes: Lanes,
  notOn: readonly string[],
): Set<string> {
  const path = wanted?.path
  const here = path === undefined ? [] : [...set.replicas, ...set.releases].filter((one) => one.path === path)
  const taken = new Set([...notOn, ...here.flatMap(({ node }) => node ?? [])])
  const free = new Set<string>()
  for (const node of nodes.all()) {
    const { name = '' } = node.metadata
    if (taken.has(name) || lanes.isFull(name)) continue
    if (healthOf(node).isReady && allowsNode(config?.nodeAffinity, node)) free.add(name)
  }
  return free
}
