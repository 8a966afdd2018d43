/** What a VolumeManager needs done: movers, labels, claims, a status that says how things stand, and a clean leave. */
import { VOLUME_FINALIZER } from '../../api/lodestone.ts'
import { nameOfObject } from '../../api/meta.ts'
import { type Pod, pods } from '../../api/pod.ts'
import { type VolumeManager, volumeManagers } from '../../api/volume-manager.ts'
import { mergePatch } from '../merge-patch.ts'
import type { Action, Plan, Write } from '../plan.ts'
import type { VolumeManagerInput } from './input.ts'
import { readTask } from './mover/task.ts'
import { planNodeLabels } from './node-labels.ts'
import { planClaims } from './persistent-volumes.ts'
import { draftVolume } from './replica/volume-plan.ts'
import { nextLookMs } from './schedule/next-look.ts'
import { startMovers } from './schedule/start.ts'
import { statusEvents, statusOf } from './status/conditions.ts'
import { summarize } from './status/summary.ts'

/**
 * ```text
 *                    all volumes usable                 wanted: Completed
 *  (new) ─► Pending ───────────────────► Running ───────────────────────► Pending ─► Completed
 *             ▲  │                          │                             (releasing)
 *             │  └─ cannot be had ─► Failed │
 *             │                        │    │
 *             └── tried again, mended ─┴────┘ the last replica is lost
 * ```
 * Everything is derived anew from the spec, the status, the movers and the nodes, so that a plan that was carried out by half is simply
 * made again. In order: what is made has a name that is the same at every attempt to make it; a node gets its label before the status
 * speaks of its data; a mover is deleted once the status has its result; data is deleted when no label leads to it and no pod uses it.
 */
export function planVolumeManager(input: VolumeManagerInput): Plan {
  const { manager } = input
  const { deletionTimestamp, finalizers = [] } = manager.metadata
  if (deletionTimestamp && !finalizers.includes(VOLUME_FINALIZER)) return { actions: [] }
  // Before anything is made that would have to be cleaned up.
  if (!deletionTimestamp && !finalizers.includes(VOLUME_FINALIZER)) {
    return { actions: [setFinalizers(manager, [...finalizers, VOLUME_FINALIZER])] }
  }
  const goal = deletionTimestamp || isReleasing(manager) ? 'released' : 'present'
  const configs = manager.spec?.volumeConfigs ?? []
  const drafts = idsOf(input, configs).map((id) =>
    draftVolume(
      input,
      id,
      configs.find((config) => config.id === id),
      goal,
    ),
  )
  const started = startMovers(input, drafts)
  const claims = planClaims(input, drafts)
  const summaries = started.drafts.map((draft) => summarize(input, draft))
  const isEmpty = summaries.every(({ verdict }) => verdict === 'released') && claims.waiting.length === 0
  const labels = planNodeLabels(input, started.drafts)
  if (deletionTimestamp && isEmpty && labels.length === 0) {
    return {
      actions: [
        setFinalizers(
          manager,
          finalizers.filter((finalizer) => finalizer !== VOLUME_FINALIZER),
        ),
      ],
    }
  }
  const ids = new Set(deletionTimestamp ? [] : configs.map(({ id }) => id))
  // Of a volume that is no longer in the spec, the status goes with its data.
  const shown = summaries.filter(({ status, verdict }) => ids.has(status.id) || verdict !== 'released')
  const status = statusOf(input, shown, claims.waiting)
  const change = mergePatch(manager.status ?? {}, status)
  const isWritten = change === undefined
  const writes: Write[] = [
    ...claims.writes,
    ...labels,
    ...started.pods.map((pod): Write => ({ kind: 'create', type: pods, object: pod })),
    ...(change ? [patchStatus(manager, change)] : []),
    // Behind the status: what a mover said is written down before it goes.
    ...drafts.flatMap(({ orphans }) => orphans).flatMap(deletePod),
  ]
  const events: Action[] = isWritten ? [] : statusEvents(manager, status, shown)
  return { actions: [...writes, ...events], ...nextLookMs(input, started.drafts) }
}

function isReleasing({ spec }: VolumeManager): boolean {
  return spec?.state === 'Completed' || spec?.state === 'Failed'
}

/**
 * Those of the spec in its order, and those that are on their way out, or that were another VolumeManager's of the same name. The first of
 * two of one id counts.
 */
function idsOf({ manager, movers }: VolumeManagerInput, configs: readonly { id: string }[]): string[] {
  const known = [...configs, ...(manager.status?.volumes ?? [])].map(({ id }) => id)
  const moved = [...movers.values()].flatMap((pod) => readTask(pod)?.id ?? [])
  return [...new Set([...known, ...moved])]
}

function deletePod(pod: Pod): Write[] {
  return pod.metadata.deletionTimestamp ? [] : [{ kind: 'delete', type: pods, object: pod }]
}

function referenceTo(manager: VolumeManager) {
  return { type: volumeManagers, ...nameOfObject(manager) }
}

function setFinalizers(manager: VolumeManager, finalizers: string[]): Write {
  const { resourceVersion } = manager.metadata
  return { kind: 'patch', of: referenceTo(manager), patch: { metadata: { resourceVersion, finalizers } } }
}

function patchStatus(manager: VolumeManager, status: object): Write {
  const { resourceVersion } = manager.metadata
  return {
    kind: 'patch',
    of: referenceTo(manager),
    patch: { metadata: { resourceVersion }, status },
    subresource: 'status',
  }
}
