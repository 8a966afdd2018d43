/** What is seen of the replicas of a volume: their movers, nodes and users; and what has become of them since the last look. */
import type { ReplicaStatus, VolumeConfig, VolumeStatus } from '../../../api/volume-manager.ts'
import type { VolumeManagerInput } from '../input.ts'
import { type MoverSight, seeMover } from '../mover/observed-mover.ts'
import { taskOf } from '../mover/task.ts'
import { healthOf } from '../schedule/node-health.ts'
import { isReady, type NodeSight, queueAgain, type ReplicaSight, stepReplica } from './replica.ts'
import { abandonNode, type ReplicaSet } from './replica-set.ts'
import { stepUpload } from './upload.ts'
import { noteUse } from './use.ts'

/** Every replica one step on, and the nodes that were left on the way. */
export function lookAround(
  input: VolumeManagerInput,
  id: string,
  config: VolumeConfig | undefined,
  before: VolumeStatus | undefined,
): ReplicaSet {
  const { settings, now } = input
  const known = before?.replicas ?? []
  const withData = new Set(known.filter(isReady).flatMap(placeOf))
  const replicas: ReplicaStatus[] = []
  let set: ReplicaSet = { replicas, releases: before?.releases ?? [], nextIndex: before?.nextIndex ?? 0 }
  for (const replica of known) {
    const sight = sightOf(input, id, replica, withData)
    const stepped = noteUse(wakeUp(input, stepReplica(replica, sight)), input)
    const after = stepUpload(stepped, { ...seeUploader(input, id, replica), config, settings, now })
    replicas.push(after)
    if (isReady(after)) for (const place of placeOf(after)) withData.add(place)
    const left = after.state === 'Failed' && after.node === undefined ? (sight.mover?.node ?? replica.node) : undefined
    const isLeft = left !== undefined && input.nodes.get(left) !== undefined
    const { path, revision } = replica
    if (isLeft && path !== undefined) set = abandonNode(set, { node: left, path, revision, code: after.reason }, now)
  }
  return set
}

/** The mover that writes back; of what is not written back none was ever made. */
function seeUploader(input: VolumeManagerInput, id: string, { index, upload }: ReplicaStatus): MoverSight {
  return seeMover(input, taskOf(input.manager, id, 'upload', { index, attempt: upload?.attempt ?? 0 }), upload?.since)
}

/** Where data is, as a key; nowhere is no place. */
function placeOf({ node, path }: ReplicaStatus): string[] {
  return node === undefined || path === undefined ? [] : [`${node}:${path}`]
}

function sightOf(
  input: VolumeManagerInput,
  id: string,
  replica: ReplicaStatus,
  withData: ReadonlySet<string>,
): ReplicaSight {
  const { manager, settings, nodes, now } = input
  const seen = seeMover(input, taskOf(manager, id, 'replica', replica), replica.since)
  const name = seen.mover?.node ?? replica.node
  return {
    ...seen,
    node: name === undefined ? undefined : nodeSight(nodes, name),
    nodeHasData: placeOf({ ...replica, ...(name && { node: name }) }).some((place) => withData.has(place)),
    settings,
    now,
  }
}

function nodeSight(nodes: VolumeManagerInput['nodes'], name: string): NodeSight {
  const node = nodes.get(name)
  if (!node) return { kind: 'gone' }
  const { isReady: ready, since } = healthOf(node)
  return { kind: 'present', uid: node.metadata.uid, isReady: ready, unreadySince: since }
}

/** What was deleted for want of disk comes back when a pod waits for it. */
function wakeUp({ users, now }: VolumeManagerInput, replica: ReplicaStatus): ReplicaStatus {
  if (replica.state !== 'Evicted' || replica.path === undefined) return replica
  const isWaitedFor = users(replica.path).some(({ node }) => node === undefined)
  return isWaitedFor ? queueAgain(replica, now, 'Demanded', 'a pod needs the data again') : replica
}
