/** Tests that no deadline of a volume passes by a jump of the clock, since nothing could happen during the jump. */
import { describe, expect, test } from 'vitest'
import { makeVolumeManager, NOW } from '../../../test/builders.ts'
import {
  at,
  makeDeletion,
  makeDeletionObservation,
  makeMover,
  makeNode,
  makeReplica,
  moversOf,
} from '../../../test/volume-builders.ts'
import { VOLUME_SETTINGS } from '../../../test/volume-world.ts'
import type { Present } from '../../base/time/clock-jumps.ts'
import { observeMover } from './mover/observed-state.ts'
import { skippedAt } from './nodes/leftovers.ts'
import { planEviction } from './plan-eviction.ts'
import { stepDeletion } from './replica/deletion.ts'
import { type DownloadObservation, stepDownload } from './replica/download.ts'
import { stepWork } from './replica/transition.ts'
import { overdueMovers } from './schedule/preemption.ts'

const settings = VOLUME_SETTINGS
const HOUR_MS = 3_600_000
const RUNNING = { kind: 'running', node: 'n1' } as const
const WAITING = { kind: 'waiting', reason: 'Starting', message: 'the mover was created' } as const
const REPLICA: Omit<DownloadObservation, 'now'> = {
  mover: undefined,
  progress: undefined,
  retryTriggers: new Set(),
  nodeHasData: false,
  isDemanded: false,
  isDeletionPending: false,
  hasChanges: false,
  node: undefined,
  sourceType: 'S3',
  settings,
}
const { prepareTimeoutSeconds, progressTimeoutSeconds, preemptAfterSeconds } = settings.movers
const UNREADY = { kind: 'present', uid: 'u1', isReady: false, unreadySince: NOW } as const
const UNREADY_NODE = {
  ...makeNode('n1'),
  status: { conditions: [{ type: 'Ready', status: 'Unknown', lastTransitionTime: at(0) }] },
}
const unused = makeVolumeManager([{}], {
  status: { volumes: [{ id: 'vol1', nodeAffinity: {}, replicas: [makeReplica({ since: at(0) })] }] },
})
const evictable = makeVolumeManager([{ evictionPolicy: 'LeastRecentlyUsed' }], {
  status: { volumes: [{ id: 'vol1', nodeAffinity: {}, replicas: [makeReplica({ since: at(-99) })] }] },
})
const downloading = makeVolumeManager([{}], {
  status: {
    volumes: [{ id: 'vol1', nodeAffinity: {}, replicas: [makeReplica({ state: 'Downloading', since: at(0) })] }],
  },
})
const NOTHING_KNOWN = { refusals: new Map(), progress: new Map(), retryTriggers: new Map() }
const PULLING = makeMover(
  {},
  { containerStatuses: [{ name: 'mover', state: { waiting: { reason: 'ErrImagePull' } } }] },
  'n1',
)
const EVICTION = { node: makeNode('n1'), users: () => [], lastEnd: () => undefined, settings }

interface Deadline {
  name: string
  seconds: number
  /** Whether the deadline of something that began at NOW is over. */
  isOver: (present: Present) => boolean
}

const deadlines: Deadline[] = [
  {
    name: 'the start of a download',
    seconds: prepareTimeoutSeconds,
    isOver: (present) =>
      stepDownload(makeReplica({ state: 'Starting', since: at(0) }), { ...REPLICA, mover: WAITING, ...present }).next
        .state === 'Failed',
  },
  {
    name: 'the progress of a download',
    seconds: progressTimeoutSeconds,
    isOver: (present) =>
      stepDownload(makeReplica({ state: 'Downloading', since: at(-60), progressTime: at(0) }), {
        ...REPLICA,
        mover: RUNNING,
        ...present,
      }).next.state === 'Failed',
  },
  {
    name: 'the start of an upload, a check or a deletion',
    seconds: prepareTimeoutSeconds,
    isOver: (present) =>
      stepWork({ state: 'Uploading', attempt: 1, since: at(0) }, { ...REPLICA, mover: WAITING, ...present })?.next
        .state === 'Failed',
  },
  {
    name: 'the progress of an upload, a check or a deletion',
    seconds: progressTimeoutSeconds,
    isOver: (present) =>
      stepWork(
        { state: 'Uploading', attempt: 1, since: at(-60), progressTime: at(0) },
        { ...REPLICA, mover: RUNNING, ...present },
      )?.next.state === 'Failed',
  },
  {
    name: 'a mover that has its slot for long',
    seconds: preemptAfterSeconds,
    isOver: (present) =>
      overdueMovers({
        manager: downloading,
        movers: moversOf(makeMover({}, { phase: 'Running' })),
        progress: new Map(),
        settings: settings.movers,
        ...present,
      }).length > 0,
  },
  {
    name: 'an image that cannot be pulled',
    seconds: 60,
    isOver: (present) => {
      const [[name, pod] = []] = moversOf(PULLING)
      return observeMover({ ...NOTHING_KNOWN, ...present }, name ?? '', pod, at(0)).mover?.kind === 'failed'
    },
  },
  {
    name: 'a node that is not ready',
    seconds: settings.nodeLossSeconds,
    isOver: (present) =>
      stepDownload(makeReplica({ state: 'Ready', node: 'n1', nodeUID: 'u1' }), {
        ...REPLICA,
        node: UNREADY,
        ...present,
      }).next.state === 'Unreachable',
  },
  {
    name: 'a node whose data becomes a leftover',
    seconds: settings.deletionNodeTimeoutSeconds,
    isOver: (present) =>
      (skippedAt(UNREADY_NODE, { settings, deletionTimestamp: at(-60), ...present }) ?? 0) <= present.now,
  },
  {
    name: 'pods that were scheduled before the label of their node was removed',
    seconds: 3,
    isOver: (present) =>
      stepDeletion(makeDeletion({ state: 'Waiting', since: at(0) }), makeDeletionObservation(present))?.next.state !==
      'Waiting',
  },
  {
    name: 'data that may be evicted',
    seconds: settings.eviction.minUnusedSeconds,
    isOver: (present) =>
      planEviction({
        ...EVICTION,
        managers: [unused],
        lastAt: undefined,
        collecting: new Set(['/var/datasets']),
        ...present,
      }).evicted !== undefined,
  },
  {
    name: 'the pause after an eviction',
    seconds: settings.eviction.pauseSeconds,
    isOver: (present) =>
      planEviction({
        ...EVICTION,
        managers: [evictable],
        lastAt: NOW,
        collecting: new Set(),
        node: { ...makeNode('n1'), status: { conditions: [{ type: 'DiskPressure', status: 'True' }] } },
        ...present,
      }).evicted !== undefined,
  },
]
describe.each(deadlines)('a deadline of $name', ({ seconds, isOver }) => {
  const lastMs = seconds * 1000 - 1000

  test.each([
    { name: 'three hours', byMs: 3 * HOUR_MS },
    { name: 'a year', byMs: 365 * 24 * HOUR_MS },
  ])('is neither missed nor longer after a jump of $name', ({ byMs }) => {
    // The clock jumps a second after the beginning.
    const jumps = [{ to: NOW + 1000 + byMs, byMs }]
    expect(isOver({ now: NOW + lastMs + byMs, jumps })).toBe(false)
    expect(isOver({ now: NOW + lastMs + byMs + 2000, jumps })).toBe(true)
  })

  test('counts time that passes', () => {
    expect(isOver({ now: NOW + lastMs })).toBe(false)
    expect(isOver({ now: NOW + lastMs + 2000 })).toBe(true)
  })
})
