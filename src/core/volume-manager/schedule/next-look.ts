/** When a VolumeManager is to be looked at again although nothing changed. */
import type { VolumeManagerInput } from '../input.ts'
import { nextUploadAt } from '../replica/upload.ts'
import { isUsable } from '../replica/usable.ts'
import type { VolumeDraft } from '../replica/volume-plan.ts'
import { fromTime } from '../status/time.ts'
import { healthOf } from './node-health.ts'

/** How often a running mover's progress is read. */
const PROGRESS_MS = 30_000
/** Who waits for a slot is woken when one is free; this is for a wake-up that was missed. */
const QUEUE_MS = 60_000
const SOON_MS = 3_000
/** The pods of a stream wait for its first bytes, and not for all of it. */
const FIRST_BYTES_MS = 5_000

/** The earliest moment at which time alone changes something; absent when it never does. */
export function nextLookMs(
  { nodes, settings, now }: VolumeManagerInput,
  drafts: readonly VolumeDraft[],
): { requeueAfterMs?: number } {
  const prepareMs = settings.movers.prepareTimeoutSeconds * 1000
  const times = drafts.flatMap(({ set, config }) => [
    ...set.replicas.flatMap((replica) => {
      const { upload, inUse } = replica
      if (upload?.state === 'Failed') return [(fromTime(upload.retryTime) ?? now) - now]
      const uploadMs = inUse && !upload ? (nextUploadAt(replica, config) ?? Number.POSITIVE_INFINITY) - now : QUEUE_MS
      return upload || inUse ? [Math.min(QUEUE_MS, uploadMs)] : []
    }),
    ...set.replicas.flatMap((replica): number[] => {
      const { state, since, retryTime, node: name } = replica
      switch (state) {
        case 'Failed':
          return [(fromTime(retryTime) ?? now) - now]
        case 'Queued':
          return [QUEUE_MS]
        case 'Starting':
          return [Math.min(PROGRESS_MS, (fromTime(since) ?? now) + prepareMs - now)]
        case 'Downloading':
          return [config?.sourceType === 'Stream' && !isUsable(replica, 'Stream') ? FIRST_BYTES_MS : PROGRESS_MS]
        case 'Ready': {
          const node = name === undefined ? undefined : nodes.get(name)
          const health = node && healthOf(node)
          if (!health || health.isReady) return []
          return [(health.since ?? now) + settings.nodeLossSeconds * 1000 - now]
        }
        default:
          return []
      }
    }),
    ...set.releases.map(({ state, retryTime }) => {
      if (state === 'Failed') return (fromTime(retryTime) ?? now) - now
      return state === 'Waiting' ? SOON_MS : QUEUE_MS
    }),
  ])
  return times.length === 0 ? {} : { requeueAfterMs: Math.max(1000, Math.min(...times)) }
}
