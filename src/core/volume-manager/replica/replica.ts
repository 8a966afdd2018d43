/** Computes the next status of each replica and deletion of a volume from what is observed of it. */
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import type { ReplicaStatus } from '../../../api/volume-status.ts'
import type { VolumeManagerInput } from '../input.ts'
import { type ObservedVolume, placeKey } from '../observe.ts'
import { nodeLabelsFor } from '../rules/names.ts'
import { earliest } from '../time.ts'
import { stepDeletion } from './deletion.ts'
import { isReady, stepReplica } from './download.ts'
import { stepMaintenance, withHandled } from './maintenance.ts'
import { requestsOf } from './maintenance-schedule.ts'
import { abandonNode, type ReplicaSet, recordUse } from './replica-set.ts'
import { stepUpload } from './upload.ts'

/**
 * Computes the next status of every replica, and adds deletions for the nodes that replicas left.
 *
 * @param isValid whether movers can be created for the volume. Otherwise no upload and no maintenance is queued: work that can never start
 *   would delay the movers of other VolumeManagers.
 */
export function stepReplicas(
  input: VolumeManagerInput,
  observed: ObservedVolume,
  config: VolumeConfig | undefined,
  isValid = true,
): ReplicaSet {
  const { manager, now } = input
  const { before } = observed
  const configOf = (isAtWork: boolean) => (isValid || isAtWork ? config : undefined)
  const requests = requestsOf(manager)
  const replicasInAll = manager.status?.volumes?.reduce((sum, { replicas = [] }) => sum + replicas.length, 0) ?? 0
  const withData = new Set(observed.replicas.flatMap(({ replica }) => (isReady(replica) ? placeOf(replica) : [])))
  const replicas: ReplicaStatus[] = []
  let set: ReplicaSet = { replicas, deletions: before?.deletions ?? [], nextIndex: before?.nextIndex ?? 0 }
  for (const { replica, download, upload, maintenance } of observed.replicas) {
    const { nodeName } = download
    const place = placeOf({ path: replica.path, node: nodeName })
    const downloaded = stepReplica(replica, {
      ...download,
      nodeHasData: place.some((one) => withData.has(one)),
      sourceType: config?.sourceType,
    })
    const uploaded = stepUpload(recordUse(downloaded.next, input), {
      ...upload,
      config: configOf(replica.upload?.state === 'Uploading'),
    })
    const arrived = !isReady(replica) && isReady(uploaded.next) ? withHandled(uploaded.next, requests) : uploaded.next
    const maintained = stepMaintenance(arrived, {
      ...maintenance,
      config: configOf(replica.maintenance?.state === 'Running'),
      requests,
    })
    const after = withFewFailures(maintained.next, replicasInAll)
    replicas.push(after)
    if (isReady(after)) for (const one of placeOf(after)) withData.add(one)
    set = { ...set, dueAt: earliest(set.dueAt, downloaded.dueAt, uploaded.dueAt, maintained.dueAt) }
    const isAbandoning = after.state === 'Failed' && after.node === undefined
    const { path, revision } = replica
    if (isAbandoning && nodeName !== undefined && path !== undefined && input.nodes.get(nodeName) !== undefined) {
      set = abandonNode(set, { node: nodeName, path, revision, code: after.reason }, now)
    }
  }
  return set
}

/** The most recorded node failures of all replicas of a VolumeManager together, since an object has at most 1.5 MiB. */
const MAX_ALL_NODE_FAILURES = 2000

function withFewFailures(replica: ReplicaStatus, replicas: number): ReplicaStatus {
  const most = Math.max(1, Math.floor(MAX_ALL_NODE_FAILURES / Math.max(1, replicas)))
  const { nodeFailures = [] } = replica
  return nodeFailures.length > most ? { ...replica, nodeFailures: nodeFailures.slice(-most) } : replica
}

/** The node and directory of data, as a key; empty for a replica that is on no node. */
function placeOf({ node, path }: { node?: string | undefined; path?: string | undefined }): string[] {
  return node === undefined || path === undefined ? [] : [placeKey({ node, path })]
}

/** Computes the next status of every deletion, and removes deletions whose data is gone. */
export function stepDeletions({ manager }: VolumeManagerInput, observed: ObservedVolume, set: ReplicaSet): ReplicaSet {
  const labelsOf = nodeLabelsFor(manager, observed.id)
  const steps = set.deletions.flatMap((deletion) => {
    const needed = set.replicas.filter(({ node }) => node === deletion.node).flatMap(labelsOf)
    const step = stepDeletion(deletion, observed.deletion(deletion, needed))
    return step ? [step] : []
  })
  return {
    ...set,
    deletions: steps.map(({ next }) => next),
    dueAt: earliest(set.dueAt, ...steps.map(({ dueAt }) => dueAt)),
  }
}
