/** Which movers start now: as many as there are slots, on nodes that have room, deletions first. */
import type { Pod } from '../../api/pod.ts'
import type { ReleaseStatus, ReplicaStatus, VolumeConfig } from '../../api/volume-manager.ts'
import type { VolumeManagerInput } from './input.ts'
import type { Placement } from './mover-pod.ts'
import { readTask } from './mover-task.ts'
import { releaseMover, replicaMover, uploadMover } from './mover-work.ts'
import { allowsNode } from './node-affinity.ts'
import { healthOf } from './node-health.ts'
import { isWaiting, NO_NODE } from './queue.ts'
import { startDeleting } from './release.ts'
import { isMoving, start } from './replica.ts'
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
  let slots = allowance.slots
  const pods: Pod[] = []
  const byId = new Map(drafts.map((draft) => [draft.id, draft]))
  for (const draft of drafts) {
    const releases = draft.set.releases.map((release) => {
      if (slots <= 0 || !mayDelete(release, draft, allowance.fullNodes)) return release
      slots--
      pods.push(releaseMover(manager, draft.id, draft.moverConfig, release, settings.movers))
      return startDeleting(release, now)
    })
    const { moverConfig } = draft
    const replicas = draft.set.replicas.map((replica) => {
      if (slots <= 0 || !moverConfig || !mayUpload(replica, draft, input)) return replica
      slots--
      pods.push(uploadMover(manager, moverConfig, replica, settings.movers))
      return startUpload(replica, now)
    })
    byId.set(draft.id, { ...draft, set: { ...draft.set, releases, replicas } })
  }
  for (const draft of [...byId.values()].sort((a, b) => priorityOf(b) - priorityOf(a))) {
    const { config, wanted } = draft
    if (!config || !wanted) {
      // Nobody knows what would be fetched; the queue goes past it.
      byId.set(draft.id, { ...draft, set: { ...draft.set, replicas: draft.set.replicas.map(stuck) } })
      continue
    }
    // Every node is looked at, so only where somebody waits.
    let free = slots > 0 && draft.set.replicas.some(isWaiting) ? freeNodes(input, draft) : 0
    const replicas = draft.set.replicas.map((replica) => {
      if (slots <= 0 || !mayStart(replica, draft, input)) return replica
      const placement = placementOf(replica, draft, input)
      if (!placement || (!('on' in placement) && free <= 0)) return stuck(replica)
      slots--
      free--
      pods.push(replicaMover({ manager, config, replica, placement, settings: settings.movers }))
      return start(replica, now)
    })
    byId.set(draft.id, { ...draft, set: { ...draft.set, replicas } })
  }
  return { drafts: drafts.map((draft) => byId.get(draft.id) ?? draft), pods }
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

function mayDelete(release: ReleaseStatus, { before }: VolumeDraft, fullNodes: ReadonlySet<string>): boolean {
  return isKnownQueued(release, before?.releases) && !fullNodes.has(release.node)
}

/** One after the other, and not before the last one is gone. */
function mayUpload(
  replica: ReplicaStatus,
  { id, before }: VolumeDraft,
  { allowance, movers }: VolumeManagerInput,
): boolean {
  const { index, upload, node } = replica
  const known = before?.replicas?.find((one) => one.index === index)?.upload
  const isKnown = upload?.state === 'Queued' && known?.state === 'Queued' && known.attempt === upload.attempt
  if (!isKnown || node === undefined || allowance.fullNodes.has(node)) return false
  return ![...movers.values()].some((pod) => {
    const task = readTask(pod)
    return task?.id === id && task.role === 'upload' && task.index === index
  })
}

function isKnownQueued<T extends ReplicaStatus | ReleaseStatus>(one: T, before: readonly T[] = []): boolean {
  const isSame = ({ index, attempt, state }: T) => index === one.index && attempt === one.attempt && state === 'Queued'
  return one.state === 'Queued' && before.some(isSame)
}

/** Not before the last mover of the replica is gone: two would write to one directory. */
function mayStart(replica: ReplicaStatus, { id, before }: VolumeDraft, { movers }: VolumeManagerInput): boolean {
  if (!isKnownQueued(replica, before?.replicas)) return false
  return ![...movers.values()].some((pod) => {
    const task = readTask(pod)
    return task?.id === id && task.role === 'replica' && task.index === replica.index
  })
}

/** Where the replica's mover may run; undefined when that is nowhere right now. */
function placementOf(replica: ReplicaStatus, draft: VolumeDraft, input: VolumeManagerInput): Placement | undefined {
  const { config, set, wanted } = draft
  const { fullNodes } = input.allowance
  const releasing = set.releases.filter(({ path }) => path === replica.path).map(({ node }) => node)
  if (replica.node !== undefined) {
    return fullNodes.has(replica.node) || releasing.includes(replica.node) ? undefined : { on: replica.node }
  }
  if (wanted?.path === undefined) return { affinity: config?.nodeAffinity, withoutLabels: [], notOn: [...fullNodes] }
  // The label keeps movers from nodes that have the data; where it is still on its way, the name does.
  const unlabelled = set.replicas.filter(
    (one) => one.path === replica.path && one.node !== undefined && !hasLabel(one, draft, input),
  )
  const { shard: _, ...whole } = replica
  return {
    affinity: config?.nodeAffinity,
    withoutLabels: wanted.labelsOf(whole),
    notOn: [...new Set([...releasing, ...fullNodes, ...unlabelled.flatMap(({ node }) => node ?? [])])].sort(),
  }
}

function hasLabel(replica: ReplicaStatus, { wanted }: VolumeDraft, { nodes }: VolumeManagerInput): boolean {
  const labels = replica.node === undefined ? {} : nodes.get(replica.node)?.metadata.labels
  return wanted?.labelsOf(replica).every((label) => labels?.[label] !== undefined) ?? false
}

/** How many more nodes could take a replica: a mover for which there is no node would only wait, and hold a slot. */
function freeNodes({ nodes, allowance }: VolumeManagerInput, { config, set, wanted }: VolumeDraft): number {
  if (wanted?.path === undefined) return 1
  const { path } = wanted
  const taken = new Set([
    ...set.replicas.filter((one) => one.path === path).flatMap(({ node }) => node ?? []),
    ...set.releases.filter((one) => one.path === path).map(({ node }) => node),
    ...allowance.fullNodes,
  ])
  const onTheirWay = set.replicas.filter((one) => one.path === path && isMoving(one) && one.node === undefined).length
  let free = -onTheirWay
  for (const node of nodes.all()) {
    if (!taken.has(node.metadata.name ?? '') && healthOf(node).isReady && allowsNode(config?.nodeAffinity, node)) free++
  }
  return free
}
