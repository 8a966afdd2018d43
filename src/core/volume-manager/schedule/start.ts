/** Which movers start now: as many as there are slots, on nodes that have room, deletions first. */
import type { Pod } from '../../../api/pod.ts'
import type { ReleaseStatus, ReplicaStatus, VolumeConfig } from '../../../api/volume-manager.ts'
import type { VolumeManagerInput } from '../input.ts'
import { releaseMover, replicaMover, uploadMover } from '../mover/build.ts'
import { type MoverTask, readTask } from '../mover/task.ts'
import { startDeleting } from '../replica/deletion.ts'
import { start } from '../replica/replica.ts'
import { startUpload } from '../replica/upload.ts'
import type { VolumeDraft } from '../replica/volume-plan.ts'
import { claimNameOf } from '../spec/names.ts'
import { sourceTypeOf } from '../spec/source-types.ts'
import { laneFor, lookingForNode, placementOf } from './placement.ts'
import { STUCK } from './queue.ts'
import { openLanes } from './slots.ts'

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
  const transfer = { ...common, networks: settings.allowedLocalNetworks }
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
      pods.push(uploadMover({ ...transfer, config, replica, lane }))
      return startUpload(replica, now)
    })
    byId.set(id, { ...draft, set: { ...draft.set, releases, replicas } })
  }
  for (const draft of [...byId.values()].sort((a, b) => priorityOf(b) - priorityOf(a))) {
    const { config, wanted } = draft
    if (!config || !wanted) {
      // Nobody knows what would be fetched; the queue goes past it.
      byId.set(draft.id, {
        ...draft,
        set: { ...draft.set, replicas: draft.set.replicas.map((one) => stuck(one, 'InvalidSpec')) },
      })
      continue
    }
    let looking = lookingForNode(draft, input)
    const replicas = draft.set.replicas.map((replica) => {
      if (slots <= 0 || !mayStart(replica, draft, input)) return replica
      if (!hasClaim(config, input)) return stuck(replica, 'NoClaim')
      const isPinned = replica.node !== undefined
      if (!isPinned && looking !== 'nobody') return looking === 'unschedulable' ? stuck(replica, 'NoNode') : replica
      const placement = placementOf(replica, draft, input)
      const lane = placement && laneFor(placement, draft, input, lanes)
      if (!placement || lane === undefined) return stuck(replica, 'NoNode')
      slots--
      if (!isPinned) looking = 'somebody'
      pods.push(replicaMover({ ...transfer, config, replica, placement, lane }))
      return start(replica, now)
    })
    byId.set(draft.id, { ...draft, set: { ...draft.set, replicas } })
  }
  return { drafts: drafts.map((draft) => byId.get(draft.id) ?? draft), pods }
}

/** Whoever cannot start although there is a slot lets the others go first. */
function stuck(replica: ReplicaStatus, reason: keyof typeof STUCK): ReplicaStatus {
  return replica.state === 'Queued' ? { ...replica, reason, message: STUCK[reason] } : replica
}

function priorityOf({ config }: { config: VolumeConfig | undefined }): number {
  return config?.priority ?? 0
}

/** One after the other, and not before the last one is gone. */
function mayUpload(replica: ReplicaStatus, { id, before }: VolumeDraft, { movers }: VolumeManagerInput): boolean {
  const { index, upload } = replica
  const known = before?.replicas?.find((one) => one.index === index)?.upload
  const isKnown = upload?.state === 'Queued' && known?.state === 'Queued' && known.attempt === upload.attempt
  return isKnown && !hasMover(movers, id, 'upload', index)
}

function isKnownQueued<T extends ReplicaStatus | ReleaseStatus>(one: T, before: readonly T[] = []): boolean {
  const isSame = ({ index, attempt, state }: T) => index === one.index && attempt === one.attempt && state === 'Queued'
  return one.state === 'Queued' && before.some(isSame)
}

/** Not before the last mover of the replica is gone: two would write to one directory. */
function mayStart(replica: ReplicaStatus, { id, before }: VolumeDraft, { movers }: VolumeManagerInput): boolean {
  return isKnownQueued(replica, before?.replicas) && !hasMover(movers, id, 'replica', replica.index)
}

function hasMover(movers: VolumeManagerInput['movers'], id: string, role: MoverTask['role'], index: number): boolean {
  return [...movers.values()].some((pod) => {
    const task = readTask(pod)
    return task?.id === id && task.role === role && task.index === index
  })
}

/** Whether the claim that a mover mounts is there, where it mounts one: without it the scheduler would lay the mover aside. */
function hasClaim(config: VolumeConfig, { manager, claims }: VolumeManagerInput): boolean {
  if (sourceTypeOf(config.sourceType).delivery !== 'mounted') return true
  return claims.some(({ metadata }) => metadata.name === claimNameOf(manager, config))
}
