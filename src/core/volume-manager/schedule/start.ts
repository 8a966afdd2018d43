/** Starts movers within the allowance and the per-node slots, deletions and uploads first. */
import type { Pod } from '../../../api/pod.ts'
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import type { DeletionStatus, ReplicaStatus } from '../../../api/volume-status.ts'
import { without } from '../../../base/json.ts'
import { earliest } from '../../../base/time/earliest.ts'
import { MESSAGES, STUCK } from '../codes.ts'
import type { VolumeManagerInput } from '../input.ts'
import { apartFrom } from '../mover/affinity.ts'
import { deletionMover, maintenanceMover, replicaMover, uploadMover } from '../mover/build.ts'
import { type MoverTask, readTask } from '../mover/task.ts'
import { hasDiskPressure } from '../nodes/feasibility.ts'
import type { MoverPod } from '../observe.ts'
import { startDeleting } from '../replica/deletion.ts'
import { startDownload } from '../replica/download.ts'
import { startMaintenance } from '../replica/maintenance.ts'
import type { Transition } from '../replica/transition.ts'
import { startUpload } from '../replica/upload.ts'
import type { VolumePlan } from '../replica/volume-plan.ts'
import { claimNameOf } from '../rules/names.ts'
import { revisionOf, sourceTypeOf } from '../rules/source-types.ts'
import { placeMover, searchState, slotAmong, slotOnNewNode } from './placement.ts'
import { maxMaintenances } from './shares.ts'
import { type NodeSlots, openNodeSlots } from './slots.ts'

export interface Started {
  plans: VolumePlan[]
  pods: Pod[]
}

/** The free slots, and the movers that took slots. */
interface Starter {
  input: VolumeManagerInput
  nodeSlots: NodeSlots
  /** How many more movers this VolumeManager may start, and how many of them on the node of their data. */
  free: number
  onNodes: Map<string, number>
  pods: Pod[]
}

/**
 * Starts the movers that have a free slot. Other work stays queued. Only work that the stored status records as Queued is started. A plan
 * that was applied in part is made again, and finds its movers by their index and attempt.
 */
export function startMovers(input: VolumeManagerInput, plans: readonly VolumePlan[]): Started {
  const { allowance, settings } = input
  const nodeSlots = openNodeSlots(allowance.active, settings.movers.maxPerNode)
  const free = input.terminating?.refusal === undefined ? allowance.slots : 0
  const starter: Starter = { input, nodeSlots, free, onNodes: new Map(allowance.onNodes), pods: [] }
  const working = plans.map((plan) => startUploads(startDeletions(plan, starter), starter))
  const started = new Map(
    [...working]
      .sort((a, b) => volumePriority(b) - volumePriority(a))
      .map((plan) => [plan.id, startReplicas(plan, starter)] as const),
  )
  const planned = working.map((plan) => started.get(plan.id) ?? plan)
  return { plans: planned.map((plan) => startMaintenances(plan, starter)), pods: starter.pods }
}

function volumePriority({ config }: { config: VolumeConfig | undefined }): number {
  return config?.priority ?? 0
}

/** Starts a mover when there is a slot for it. */
function startIn(starter: Starter, takeSlot: () => number | undefined, moverIn: (slot: number) => Pod): boolean {
  const slot = starter.free > 0 ? takeSlot() : undefined
  if (slot === undefined) return false
  starter.free--
  starter.pods.push(apartFrom([...starter.input.allowance.active, ...starter.pods], moverIn(slot)))
  return true
}

/** Starts a mover on the node of its data. */
function startOn(node: string, starter: Starter, moverIn: (slot: number) => Pod): boolean {
  const { nodeSlots, onNodes } = starter
  const left = onNodes.get(node) ?? 0
  const isStarted = left > 0 && startIn(starter, () => nodeSlots.takeOn(node), moverIn)
  if (isStarted) onNodes.set(node, left - 1)
  return isStarted
}

function hasPressure(name: string, { input }: Starter): boolean {
  const node = input.nodes.get(name)
  return node !== undefined && hasDiskPressure(node)
}

function startDeletions(plan: VolumePlan, starter: Starter): VolumePlan {
  const { id, moverConfig: config, set, before } = plan
  const { manager, settings, now } = starter.input
  const deletions = set.deletions.map((deletion) => {
    const isCritical = hasPressure(deletion.node, starter)
    const isStarted =
      isKnownQueued(deletion, before?.deletions) &&
      startOn(deletion.node, starter, (slot) =>
        deletionMover({ manager, settings: settings.movers, id, config, deletion, isCritical, slot }),
      )
    return isStarted ? startDeleting(deletion, now) : deletion
  })
  return { ...plan, set: { ...set, deletions } }
}

function startUploads(plan: VolumePlan, starter: Starter): VolumePlan {
  const { moverConfig: config, set } = plan
  if (!config) return plan
  const { input } = starter
  const replicas = set.replicas.map((replica) => {
    const { node } = replica
    const isStarted =
      node !== undefined &&
      mayUpload(replica, plan) &&
      startOn(node, starter, (slot) =>
        uploadMover({ ...transferInput(input), config, replica, isCritical: hasPressure(node, starter), slot }),
      )
    return isStarted ? startUpload(replica, input.now) : replica
  })
  return { ...plan, set: { ...set, replicas } }
}

function startReplicas(plan: VolumePlan, starter: Starter): VolumePlan {
  const { config, moverConfig, set } = plan
  const { input, nodeSlots } = starter
  if (!config || !moverConfig) {
    // A volume with an invalid spec cannot be downloaded, so other VolumeManagers go first.
    const reason = config ? 'InvalidSpec' : 'OtherSource'
    return { ...plan, set: { ...set, replicas: set.replicas.map((replica) => stuck(replica, reason)) } }
  }
  const revision = revisionOf(config)
  const isClaimed = hasClaim(config, input)
  let search = searchState(plan)
  const steps = set.replicas.map((replica) => {
    const waiting = asWaiting(replica)
    return waiting ? { next: waiting } : start(replica, config)
  })
  const dueAt = earliest(set.dueAt, ...steps.map((step) => step.dueAt))
  return { ...plan, set: { ...set, replicas: steps.map(({ next }) => next), dueAt } }

  /** The replica as it waits, with its reason; undefined if a place for its mover is searched now. */
  function asWaiting(replica: ReplicaStatus): ReplicaStatus | undefined {
    // Only changes keep a replica of another source that is not complete, and its mover would download the present source.
    if (replica.revision !== revision) return stuck(replica, 'OtherSource')
    // Before the search for its mover, which is long for many replicas.
    if (starter.free <= 0) return isClaimed ? withoutReason(replica, KNOWN_WITHOUT_SLOT) : replica
    if (!mayStart(replica, plan)) return replica
    if (!isClaimed) return stuck(replica, 'NoClaim')
    if (replica.node !== undefined) return undefined
    if (search === 'unschedulable') return stuck(replica, 'NoNode')
    return search === 'searching' ? replica : undefined
  }

  function start(replica: ReplicaStatus, config: VolumeConfig): Transition<ReplicaStatus> {
    const placement = placeMover(replica, plan, input, nodeSlots, [...input.allowance.active, ...starter.pods])
    if (placement === undefined) return { next: stuck(replica, 'NoNode') }
    const moverIn = (slot: number) => replicaMover({ ...transferInput(input), config, replica, placement, slot })
    if ('on' in placement) {
      return startOn(placement.on, starter, moverIn)
        ? startDownload(replica, input)
        : { next: withoutReason(replica, STUCK) }
    }
    const others = input.allowance.active.length + starter.pods.length
    const takeSlot = () => slotAmong(placement, plan, input, nodeSlots) ?? slotOnNewNode(replica, plan, input, others)
    const isStarted = startIn(starter, takeSlot, moverIn)
    if (!isStarted) return { next: stuck(replica, 'NoNode') }
    search = 'searching'
    return startDownload(replica, input)
  }
}

function startMaintenances(plan: VolumePlan, starter: Starter): VolumePlan {
  const { moverConfig: config, set } = plan
  if (!config) return plan
  const { input, pods } = starter
  const { allowance, settings, users } = input
  const most = maxMaintenances(settings.movers)
  const isFull = () =>
    [...allowance.active, ...pods].filter((pod) => readTask(pod)?.role === 'maintenance').length >= most
  const replicas = set.replicas.map((replica) => {
    const { node, path } = replica
    const isStarted =
      node !== undefined &&
      path !== undefined &&
      mayMaintain(replica, plan) &&
      !isFull() &&
      startOn(node, starter, (slot) =>
        maintenanceMover({
          ...transferInput(input),
          config,
          replica,
          slot,
          checks: settings.checks,
          users: users(path).filter((user) => user.node === node),
        }),
      )
    return isStarted ? startMaintenance(replica, input.now) : replica
  })
  return { ...plan, set: { ...set, replicas } }
}

/** A check or a refresh starts when no other mover works for the replica. */
function mayMaintain(replica: ReplicaStatus, { before, movers }: VolumePlan): boolean {
  const { index, maintenance } = replica
  const known = before?.replicas?.find((one) => one.index === index)?.maintenance
  const isKnown = maintenance?.state === 'Queued' && known?.state === 'Queued' && known.attempt === maintenance.attempt
  return isKnown && !WORKING.some((role) => hasMover(movers, role, index))
}

const WORKING = ['replica', 'upload', 'maintenance'] as const

function transferInput({ manager, settings }: VolumeManagerInput) {
  const { movers, allowedLocalNetworks: networks, localRoots } = settings
  return { manager, settings: movers, networks, localRoots }
}

/** Marks a queued replica that cannot start although a slot is free, so that other replicas go first. */
function stuck(replica: ReplicaStatus, reason: 'NoNode' | 'NoClaim' | 'InvalidSpec' | 'OtherSource'): ReplicaStatus {
  return replica.state === 'Queued' ? { ...replica, reason, message: MESSAGES[reason]() } : replica
}

/** `NoNode` is not one of them: nodes are looked for when there is a slot. */
const KNOWN_WITHOUT_SLOT: ReadonlySet<string | undefined> = new Set(['NoClaim', 'InvalidSpec', 'OtherSource'])

/** Removes a reason that no longer holds from a queued replica. */
function withoutReason(replica: ReplicaStatus, past: ReadonlySet<string | undefined>): ReplicaStatus {
  if (replica.state !== 'Queued' || !past.has(replica.reason)) return replica
  return without(replica, 'reason', 'message')
}

/** An upload starts after the Pod of the previous upload is gone. */
function mayUpload(replica: ReplicaStatus, { before, movers }: VolumePlan): boolean {
  const { index, upload } = replica
  const known = before?.replicas?.find((one) => one.index === index)?.upload
  const isKnown = upload?.state === 'Queued' && known?.state === 'Queued' && known.attempt === upload.attempt
  return isKnown && !hasMover(movers, 'upload', index)
}

function isKnownQueued<T extends ReplicaStatus | DeletionStatus>(one: T, before: readonly T[] = []): boolean {
  const isSame = ({ index, attempt, state }: T) => index === one.index && attempt === one.attempt && state === 'Queued'
  return one.state === 'Queued' && before.some(isSame)
}

/** A download starts after the Pod of the previous download is gone, since two movers would write to one directory. */
function mayStart(replica: ReplicaStatus, { before, movers }: VolumePlan): boolean {
  return isKnownQueued(replica, before?.replicas) && !hasMover(movers, 'replica', replica.index)
}

function hasMover(movers: readonly MoverPod[], role: MoverTask['role'], index: number): boolean {
  return movers.some(({ task }) => task.role === role && task.index === index)
}

function hasClaim(config: VolumeConfig, { manager, persistentVolumeClaims }: VolumeManagerInput): boolean {
  if (sourceTypeOf(config.sourceType).delivery !== 'mounted') return true
  return persistentVolumeClaims.some(({ metadata }) => metadata.name === claimNameOf(manager, config))
}
