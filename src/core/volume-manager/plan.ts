/** Plans a VolumeManager: its movers, node labels, PersistentVolumes, status and finalizer. */
import { VOLUME_FINALIZER } from '../../api/lodestone.ts'
import type { Node } from '../../api/node.ts'
import { type Pod, pods } from '../../api/pod.ts'
import { type VolumeManager, volumeManagers } from '../../api/volume-manager.ts'
import type { ReplicaStatus } from '../../api/volume-status.ts'
import { defined } from '../../base/json.ts'
import { mergePatch } from '../../base/merge-patch.ts'
import { earliest } from '../../base/time/earliest.ts'
import { type Action, nodePatchOf, type Plan, patchOf, statusPatchOf, type Write } from '../plan.ts'
import type { VolumeManagerInput } from './input.ts'
import { unreadableConfigs, withKnownStatus } from './known-status.ts'
import { planDiskReports, removeDiskReports } from './nodes/disk.ts'
import { skipNodes } from './nodes/leftovers.ts'
import { observeVolumes, splitByRoom } from './observe.ts'
import { planPersistentVolumes } from './persistent-volumes.ts'
import { rejectedAmong } from './rejected-writes.ts'
import { isUsable } from './replica/download.ts'
import { planVolume, type VolumePlan } from './replica/volume-plan.ts'
import { nodeLabelsFor, ownerKey, ownerOfNodeLabel } from './rules/names.ts'
import { startMovers } from './schedule/start.ts'
import { buildManagerStatus, statusEvents, unreadableStatus } from './status/conditions.ts'
import { summarize, summarizeWaiting } from './status/summary.ts'

const MIN_REQUEUE_MS = 1000

/**
 * ```text
 *                    all volumes usable                 wanted: Completed
 *  (new) ─► Pending ───────────────────► Running ───────────────────────► Pending ─► Completed
 *             ▲  │                          │                             (deleting)
 *             │  └─ not available ─► Failed │
 *             │                        │    │
 *             └──────── retried ───────┴────┘ the last replica is lost
 * ```
 * The plan depends only on the spec, the status, the movers and the nodes, so a plan that was applied in part is made again. The order of
 * the actions makes that safe. Created objects have the same name in every attempt. A node gets its label before the status shows its data.
 * A mover is deleted after the status has its result. Data is deleted after its node label is removed and no pod uses it.
 */
export function planVolumeManager(stored: VolumeManagerInput): Plan {
  const manager = withKnownStatus(stored)
  const input = { ...stored, manager }
  const { deletionTimestamp, finalizers = [] } = manager.metadata
  if (deletionTimestamp && !finalizers.includes(VOLUME_FINALIZER)) return { actions: [] }
  // The finalizer comes before any object that needs a clean-up.
  if (!deletionTimestamp && !finalizers.includes(VOLUME_FINALIZER)) {
    return { actions: [setFinalizers(manager, [...finalizers, VOLUME_FINALIZER])] }
  }
  const goal = deletionTimestamp || isCompleted(manager) ? 'deleted' : 'present'
  const unreadable = goal === 'present' ? unreadableConfigs(stored.manager) : undefined
  if (unreadable !== undefined) return planUnreadable(stored, unreadable)
  const configs = manager.spec?.volumeConfigs ?? []
  const configOf = (id: string) => configs.find((config) => config.id === id)
  const { begun, later } = splitByRoom(observeVolumes(input))
  const plans = begun.map((observed) => planVolume(input, observed, configOf(observed.id), goal))
  const started = startMovers(input, plans)
  const persistent = planPersistentVolumes(input, plans)
  const summaries = [
    ...(goal === 'present' ? later.map(({ id }) => summarizeWaiting(id, configOf(id))) : []),
    ...started.plans.map((plan) => summarize(input, plan, persistent.conflicts.get(plan.id))),
  ]
  const isEmpty = summaries.every(({ state }) => state === 'deleted') && persistent.waiting.length === 0
  const labels = planNodeLabels(input, started.plans)
  const disks = planDiskReports(
    plans.flatMap(({ movers }) => movers),
    input,
  )
  const skipped = skipNodes(input, started.plans)
  if (deletionTimestamp && isEmpty && labels.length === 0) {
    return {
      actions: [
        ...(input.isLast ? removeDiskReports(input) : disks),
        setFinalizers(
          manager,
          finalizers.filter((finalizer) => finalizer !== VOLUME_FINALIZER),
        ),
      ],
    }
  }
  const ids = new Set(deletionTimestamp ? [] : configs.map(({ id }) => id))
  // The status of a volume that is no longer in the spec is removed with its data.
  const shown = summaries.filter(({ status, state }) => ids.has(status.id) || state !== 'deleted')
  const deletions = persistent.writes.filter(({ kind }) => kind === 'delete')
  const rejected = rejectedAmong([...deletions, ...labels, ...skipped.actions], input.rejections)
  const status = buildManagerStatus(input, shown, persistent.waiting, rejected)
  const change = mergePatch(stored.manager.status ?? {}, status)
  const writes: Write[] = [
    ...persistent.writes,
    ...labels,
    ...disks,
    ...started.pods.map((pod): Write => ({ kind: 'create', type: pods, object: pod })),
    ...(change ? [statusPatchOf(volumeManagers, manager, change)] : []),
    // A mover is deleted after the status has its result.
    ...plans.flatMap(({ orphans }) => orphans).flatMap(deletePod),
  ]
  const events: Action[] = change ? statusEvents(manager, status, shown) : []
  const dueAt = earliest(skipped.dueAt, ...started.plans.map(({ set }) => set.dueAt))
  return defined({
    actions: [...writes, ...[...skipped.actions, ...events].map((action) => elsewhere(input, action))],
    requeueAfterMs: dueAt === undefined ? undefined : Math.max(MIN_REQUEUE_MS, dueAt - input.now),
  })
}

/** The plan for volumes that cannot be read: their data and movers stay as they are. */
function planUnreadable({ manager, now }: VolumeManagerInput, message: string): Plan {
  const status = unreadableStatus(manager, message, now)
  const change = mergePatch(manager.status ?? {}, status)
  if (!change) return { actions: [] }
  return { actions: [statusPatchOf(volumeManagers, manager, change), ...statusEvents(manager, status, [])] }
}

/** Plans the end of movers whose VolumeManager was deleted in spite of its finalizer, or whose leftover is gone. */
export function planWithoutOwner(movers: readonly Pod[]): Plan {
  return { actions: movers.flatMap(deletePod) }
}

/** In a namespace that is being deleted, the API server takes no Events. An Event about the Namespace is in the namespace `default`. */
function elsewhere({ manager, terminating }: VolumeManagerInput, action: Action): Action {
  if (!terminating || action.kind !== 'event') return action
  const message = `VolumeManager ${manager.metadata.name}: ${action.message}`
  return { ...action, about: terminating.namespace, message }
}

function isCompleted({ spec }: VolumeManager): boolean {
  return spec?.state === 'Completed' || spec?.state === 'Failed'
}

/** Deletes a Pod, unless it is being deleted. */
export function deletePod(pod: Pod): Write[] {
  return pod.metadata.deletionTimestamp ? [] : [{ kind: 'delete', type: pods, object: pod }]
}

function setFinalizers(manager: VolumeManager, finalizers: string[]): Write {
  return patchOf(volumeManagers, manager, { metadata: { finalizers } })
}

/**
 * Returns one patch for each node with missing or surplus labels of this VolumeManager. Each patch has the uid of the node, so that it
 * fails when the node was replaced since.
 */
export function planNodeLabels({ manager, nodes }: VolumeManagerInput, plans: readonly VolumePlan[]): Write[] {
  const wanted = new Map<string, Set<string>>()
  for (const { id, config, set } of plans) {
    for (const replica of set.replicas) {
      if (replica.node === undefined || !keepsLabel(replica, config?.sourceType)) continue
      const labels = wanted.get(replica.node) ?? new Set()
      for (const label of nodeLabelsFor(manager, id)(replica)) labels.add(label)
      wanted.set(replica.node, labels)
    }
  }
  const names = new Set([...wanted.keys(), ...nodes.labelled().flatMap(({ metadata }) => metadata.name ?? [])])
  return [...names].sort().flatMap((name) => {
    const node = nodes.get(name)
    return node ? (labelPatch(node, ownerKey(manager), wanted.get(name) ?? new Set()) ?? []) : []
  })
}

/** A node that is not ready may recover with its data. */
function keepsLabel(replica: ReplicaStatus, sourceType: string | undefined): boolean {
  return replica.state === 'Unreachable' || isUsable(replica, sourceType)
}

function labelPatch(node: Node, owner: string, wanted: ReadonlySet<string>): Write | undefined {
  const { labels = {} } = node.metadata
  const missing = [...wanted].filter((label) => labels[label] === undefined)
  const stray = Object.keys(labels).filter((label) => ownerOfNodeLabel(label) === owner && !wanted.has(label))
  if (missing.length + stray.length === 0) return undefined
  const changes = [...missing.map((label) => [label, 'true']), ...stray.map((label) => [label, null])]
  return nodePatchOf(node, { labels: Object.fromEntries(changes) })
}
