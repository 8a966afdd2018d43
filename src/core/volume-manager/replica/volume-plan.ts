/** One volume of a plan: what it has and what it is to have, before anything is started for it. */
import { RELEASE_IN_USE_ANNOTATION } from '../../../api/lodestone.ts'
import type { Pod } from '../../../api/pod.ts'
import type {
  ReleaseStatus,
  ReplicaStatus,
  VolumeConfig,
  VolumeManager,
  VolumeStatus,
} from '../../../api/volume-manager.ts'
import type { VolumeManagerInput } from '../input.ts'
import { seeMover } from '../mover/observed-mover.ts'
import { directoryOfMover } from '../mover/place.ts'
import { moversAtWork } from '../mover/recorded-movers.ts'
import { readTask, taskOf } from '../mover/task.ts'
import { allowsNode } from '../schedule/node-affinity.ts'
import { wantedReplicas } from '../spec/distribution.ts'
import { directoryOf, nodeLabelsOf } from '../spec/names.ts'
import { revisionOf } from '../spec/revision.ts'
import { sourceTypeOf } from '../spec/source-types.ts'
import { volumeProblems } from '../spec/volume-rules.ts'
import { stepRelease } from './deletion.ts'
import { lookAround } from './observe.ts'
import { isReady } from './replica.ts'
import { abandonNode, arrangeReplicas, type Letting, type ReplicaSet, releaseAll, type Wanted } from './replica-set.ts'
import { hasChanges, isWrittenBack } from './upload.ts'

export interface VolumeDraft {
  id: string
  /** Undefined for a volume that is no longer in the spec. */
  config: VolumeConfig | undefined
  /** The same where it is good enough to make movers of. */
  moverConfig: VolumeConfig | undefined
  before: VolumeStatus | undefined
  set: ReplicaSet
  /** What is wanted; undefined when the data is to go, or nobody can say what is wanted. */
  wanted: Wanted | undefined
  /** Why the spec of the volume is no good. */
  problems: string[]
  /** Why there cannot be as many replicas as wanted. */
  shortage: string | undefined
  /** Movers whose end nobody waits for any more. */
  orphans: Pod[]
}

/** The volume after a look at everything around it. */
export function draftVolume(
  input: VolumeManagerInput,
  id: string,
  config: VolumeConfig | undefined,
  goal: 'present' | 'released',
): VolumeDraft {
  const { manager, settings, movers, now } = input
  const before = manager.status?.volumes?.find((volume) => volume.id === id)
  const isWanted = config !== undefined && goal === 'present'
  const faults = config ? volumeProblems(config, settings) : []
  const problems = isWanted ? faults.map(({ message, statusMessage }) => statusMessage ?? message) : []
  const wanted = isWanted && problems.length === 0 ? wantedOf(input, config) : undefined
  const seen = lookAround(input, id, config, before)
  const arranged = wanted
    ? arrangeReplicas(seen, wanted, now)
    : isWanted
      ? seen
      : releaseAll(seen, lettingOf(manager, id, config), now)
  const own = [...movers.values()].filter((pod) => readTask(pod)?.id === id)
  const orphansOf = (set: ReplicaSet) => {
    const awaited = new Set(moversAtWork(manager, { id, ...set }))
    return own.filter(({ metadata }) => !awaited.has(metadata.name ?? ''))
  }
  const accounted = orphansOf(arranged).reduce((set, pod) => accountFor(set, pod, now), arranged)
  const releases = accounted.releases.flatMap((release) => lookAtRelease(input, id, release, accounted.replicas) ?? [])
  const set = { ...accounted, releases }
  return {
    id,
    config,
    moverConfig: faults.length > 0 ? undefined : config,
    before,
    set,
    wanted,
    problems,
    shortage: wanted && config && shortageOf(input, config, wanted),
    orphans: orphansOf(set),
  }
}

/** What keeps data, and what goes with it. */
function lettingOf(manager: VolumeManager, id: string, config: VolumeConfig | undefined): Letting {
  return {
    labelsOf: labeller(manager, id),
    isHeld: (replica) => isWrittenBack(config) && isReady(replica) && hasChanges(replica) && !evenInUse(manager),
  }
}

function evenInUse({ metadata }: VolumeManager): boolean {
  return metadata.annotations?.[RELEASE_IN_USE_ANNOTATION] === 'true'
}

/** The labels of nodes that have a replica; none for what is on no node. */
export function labeller(manager: VolumeManager, id: string): Wanted['labelsOf'] {
  return ({ revision, shard, path }) => (path === undefined ? [] : nodeLabelsOf(manager, id, revision, shard))
}

function wantedOf({ manager, nodes }: VolumeManagerInput, config: VolumeConfig): Wanted {
  const { delivery } = sourceTypeOf(config.sourceType)
  const isMoved = delivery === 'moved'
  return {
    revision: revisionOf(config),
    path: isMoved ? directoryOf(manager, config) : undefined,
    // What is mounted over the network is looked at once; what is there already needs nothing.
    counts: isMoved ? wantedReplicas(config) : new Map([[undefined, delivery === 'mounted' ? 1 : 0]]),
    allows: (name) => {
      const node = nodes.get(name)
      return !isMoved || node === undefined || allowsNode(config.nodeAffinity, node)
    },
    ...lettingOf(manager, config.id, config),
  }
}

/** In VCK's words, but counting only the nodes that the data may be on. */
function shortageOf({ nodes }: VolumeManagerInput, config: VolumeConfig, wanted: Wanted): string | undefined {
  const { delivery } = sourceTypeOf(config.sourceType)
  if (delivery === 'mounted') return undefined
  const moved = [...wanted.counts.values()].reduce((sum, one) => sum + one, 0)
  const count = delivery === 'present' ? (config.replicas ?? 1) : moved
  let allowed = 0
  for (const node of nodes.all()) {
    if (allowsNode(config.nodeAffinity, node)) allowed++
    if (allowed >= count) return undefined
  }
  return `replicas [${count}] greater than number of nodes [${allowed}]`
}

/** A mover that nobody waits for may have written to its node all the same. */
function accountFor(set: ReplicaSet, pod: Pod, now: number): ReplicaSet {
  const node = pod.spec?.nodeName
  const path = directoryOfMover(pod)
  if (node === undefined || path === undefined || readTask(pod)?.role !== 'replica') return set
  const isKnown = set.replicas.some((replica) => replica.node === node && replica.path === path)
  return isKnown ? set : abandonNode(set, { node, path, revision: '' }, now)
}

function lookAtRelease(
  input: VolumeManagerInput,
  id: string,
  release: ReleaseStatus,
  replicas: readonly ReplicaStatus[],
): ReleaseStatus | undefined {
  const { manager, movers, nodes, users, settings, now } = input
  const node = nodes.get(release.node)
  const needed = replicas.filter((one) => one.node === release.node).flatMap(labeller(manager, id))
  return stepRelease(release, {
    ...seeMover(input, taskOf(manager, id, 'release', release), release.since),
    nodeGone: node === undefined,
    labelled: release.nodeLabels.some(
      (label) => node?.metadata.labels?.[label] !== undefined && !needed.includes(label),
    ),
    users: users(release.path).filter((user) => user.node === release.node),
    evenInUse: evenInUse(manager),
    written: [...movers.values()].some((mover) => isWriting(mover, release)),
    settings,
    now,
  })
}

function isWriting(pod: Pod, { node, path }: ReleaseStatus): boolean {
  return pod.spec?.nodeName === node && directoryOfMover(pod) === path && readTask(pod)?.role !== 'release'
}
