/** Which movers start now: as many as there are slots, on nodes that have room, deletions first. */
import type { Pod } from '../../api/pod.ts'
import type { ReleaseStatus, ReplicaStatus, VolumeConfig } from '../../api/volume-manager.ts'
import type { VolumeManagerInput } from './input.ts'
import { type Lanes, openLanes } from './lanes.ts'
import { directoryOfMover, isUnschedulable, nodeOfMover } from './mover-place.ts'
import type { Placement } from './mover-pod.ts'
import { readTask } from './mover-task.ts'
import { releaseMover, replicaMover, uploadMover } from './mover-work.ts'
import { claimNameOf } from './names.ts'
import { allowsNode } from './node-affinity.ts'
import { healthOf } from './node-health.ts'
import { isEnded } from './pod-use.ts'
import { NO_NODE } from './queue.ts'
import { startDeleting } from './release.ts'
import { start } from './replica.ts'
import { sourceTypeOf } from './source-types.ts'
import { startUpload } from './upload.ts'
import type { VolumeDraft } from './volume-draft.ts'

export interface Started {
  drafts: VolumeDraft[]
  pods: Pod[]
}

/**
 * Starts what may start. What cannot is left as it is: queued. Only what the status knows as queued is started, so that whoever makes
 * the same plan again, because this one was not carried out to its end, finds its own movers by their numbers.
 */
export function startMovers(input: VolumeManagerInput, drafts: readonly VolumeDraft[]): Started {
  const { manager, settings, allowance, now } = input
  const lanes = openLanes(allowance.active, settings.movers.maxPerNode)
  const common = { manager, settings: settings.movers }
  let slots = allowance.slots
  const pods: Pod[] = []
  const byId = new Map(drafts.map((draft) => [draft.id, draft]))
  for (const draft of drafts) {
    const { id, moverConfig: config } = draft
    const releases = draft.set.releases.map((release) => {
      const lane = slots > 0 && isKnownQueued(release, draft.before?.releases) ? lanes.takeOn(release.node) : undefined
      if (lane === undefined) return release
      slots--
      pods.push(releaseMover({ ...common, id, config, release, lane }))
      return startDeleting(release, now)
    })
    const replicas = draft.set.replicas.map((replica) => {
      const { node } = replica
      const isNext = slots > 0 && config && node !== undefined && mayUpload(replica, draft, input)
      const lane = isNext ? lanes.takeOn(node) : undefined
      if (!config || lane === undefined) return replica
      slots--
      pods.push(uploadMover({ ...common, config, replica, lane }))
      return startUpload(replica, now)
    })
    byId.set(id, { ...draft, set: { ...draft.set, releases, replicas } })
  }
  for (const draft of [...byId.values()].sort((a, b) => priorityOf(b) - priorityOf(a))) {
    const { config, wanted } = draft
    if (!config || !wanted) {
      // Nobody knows what would be fetched; the queue goes past it.
      byId.set(draft.id, { ...draft, set: { ...draft.set, replicas: draft.set.replicas.map(stuck) } })
      continue
    }
    let looking = lookingForNode(draft, input)
    const replicas = draft.set.replicas.map((replica) => {
      if (slots <= 0 || !mayStart(replica, draft, input)) return replica
      const isPinned = replica.node !== undefined
      if (!isPinned && looking !== 'nobody') return looking === 'in vain' ? stuck(replica) : replica
      const placement = placementOf(replica, draft, input)
      const lane = placement && laneFor(placement, draft, input, lanes)
      if (!placement || lane === undefined) return stuck(replica)
      slots--
      if (!isPinned) looking = 'somebody'
      pods.push(replicaMover({ ...common, config, replica, placement, lane }))
      return start(replica, now)
    })
    byId.set(draft.id, { ...draft, set: { ...draft.set, replicas } })
  }
  return { drafts: drafts.map((draft) => byId.get(draft.id) ?? draft), pods }
}

/**
 * Whether a mover of the same data is still to be placed. One at a time: a mover that has ended is nobody to keep away from for the
 * scheduler, so a quick one and the next could meet on a node before it has its label.
 */
function lookingForNode(
  { id, wanted }: VolumeDraft,
  { movers }: VolumeManagerInput,
): 'nobody' | 'somebody' | 'in vain' {
  const unplaced = [...moversTo(movers, id, wanted?.path)].filter(
    (pod) => !isEnded(pod.status) && nodeOfMover(pod) === undefined,
  )
  if (unplaced.length === 0) return 'nobody'
  return unplaced.some(isUnschedulable) ? 'in vain' : 'somebody'
}

/** The movers that bring a volume's data to this directory of whatever node. */
function moversTo(movers: VolumeManagerInput['movers'], id: string, path: string | undefined): Pod[] {
  return [...movers.values()].filter((pod) => {
    const task = readTask(pod)
    return task?.id === id && task.role === 'replica' && directoryOfMover(pod) === path
  })
}

/** Whoever cannot start although there is a slot lets the others go first. */
function stuck(replica: ReplicaStatus): ReplicaStatus {
  if (replica.state !== 'Queued') return replica
  const { reason: _, message: _message, ...rest } = replica
  return { ...rest, reason: NO_NODE, message: 'there is no node that could take it now' }
}

function priorityOf({ config }: { config: VolumeConfig | undefined }): number {
  return config?.priority ?? 0
}

/** One after the other, and not before the last one is gone. */
function mayUpload(replica: ReplicaStatus, { id, before }: VolumeDraft, { movers }: VolumeManagerInput): boolean {
  const { index, upload } = replica
  const known = before?.replicas?.find((one) => one.index === index)?.upload
  const isKnown = upload?.state === 'Queued' && known?.state === 'Queued' && known.attempt === upload.attempt
  if (!isKnown) return false
  return ![...movers.values()].some((pod) => {
    const task = readTask(pod)
    return task?.id === id && task.role === 'upload' && task.index === index
  })
}

function isKnownQueued<T extends ReplicaStatus | ReleaseStatus>(one: T, before: readonly T[] = []): boolean {
  const isSame = ({ index, attempt, state }: T) => index === one.index && attempt === one.attempt && state === 'Queued'
  return one.state === 'Queued' && before.some(isSame)
}

/**
 * Not before the last mover of the replica is gone: two would write to one directory. And not before the claim that it mounts is there:
 * the scheduler would lay it aside.
 */
function mayStart(replica: ReplicaStatus, { id, config, before }: VolumeDraft, input: VolumeManagerInput): boolean {
  const { manager, movers, claims } = input
  if (!isKnownQueued(replica, before?.replicas)) return false
  const claim = config && sourceTypeOf(config.sourceType).delivery === 'mounted' && claimNameOf(manager, config)
  if (claim && !claims.some(({ metadata }) => metadata.name === claim)) return false
  return ![...movers.values()].some((pod) => {
    const task = readTask(pod)
    return task?.id === id && task.role === 'replica' && task.index === replica.index
  })
}

/** Where the replica's mover may run; undefined when that is nowhere right now. */
function placementOf(replica: ReplicaStatus, draft: VolumeDraft, input: VolumeManagerInput): Placement | undefined {
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
function laneFor(
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
