import { describe, expect, test } from 'vitest'
import { NOW } from '../../../../test/builders.ts'
import { at, makeReplica } from '../../../../test/volume-builders.ts'
import { VOLUME_SETTINGS } from '../../../../test/volume-world.ts'
import type { ReplicaStatus } from '../../../api/volume-status.ts'
import { without } from '../../../base/json.ts'
import { MESSAGES } from '../codes.ts'
import type { MoverState } from '../mover/observed-state.ts'
import { type DownloadObservation, evictData, isUsable, loseData, type NodeState, stepDownload } from './download.ts'
import { divideReplica } from './replica.ts'

const READY_NODE: NodeState = { kind: 'present', uid: 'u1', unreadySince: undefined, isReady: true }
const unready = (seconds?: number): NodeState => ({
  kind: 'present',
  uid: 'u1',
  isReady: false,
  unreadySince: seconds === undefined ? undefined : NOW + seconds * 1000,
})
const RUNNING: MoverState = { kind: 'running', node: 'n2' }
const STARTING: MoverState = { kind: 'waiting', reason: 'Starting', message: 'the mover was created' }
const failure = (more: object = {}): MoverState => ({
  kind: 'failed',
  code: 'AccessDenied',
  message: 'no',
  retry: true,
  nodeFault: 'no' as const,
  ...more,
})
const succeeded = (more: object = {}): MoverState => ({ kind: 'succeeded', node: 'n2', bytes: 9, ...more })
const makeDownload = (replica: Partial<ReplicaStatus>) => divideReplica(makeReplica(replica)).download
const DEFAULTS: DownloadObservation = {
  mover: undefined,
  progress: undefined,
  retryTriggers: new Set(),
  node: READY_NODE,
  nodeHasData: false,
  isDeletionPending: false,
  hasChanges: false,
  isDemanded: false,
  sourceType: 'S3',
  settings: VOLUME_SETTINGS,
  now: NOW,
}

interface Case {
  name: string
  replica: Partial<ReplicaStatus>
  observed?: Partial<DownloadObservation>
  /** The relevant fields of the next status; undefined for a field that must be absent. */
  want: { [K in keyof ReplicaStatus]?: ReplicaStatus[K] | undefined }
  /** Seconds until the next check. */
  due?: number | undefined
}

const queued = { state: 'Queued', node: undefined } as unknown as Partial<ReplicaStatus>
const failed: Partial<ReplicaStatus> = {
  state: 'Failed',
  attempt: 2,
  failures: 1,
  reason: 'NoSpace',
  message: 'full',
  retryTime: at(30),
}
const downloading: Partial<ReplicaStatus> = { state: 'Downloading', node: 'n2', bytes: 5, progressTime: at(-10) }

test.each<Case>([
  { name: 'Queued waits for a slot', replica: queued, want: { state: 'Queued', attempt: 1 }, due: 60 },
  {
    name: 'Queued leaves a node that is gone',
    replica: { state: 'Queued', bytes: 5, nodeUID: 'u1' },
    observed: { node: { kind: 'deleted' } },
    want: { state: 'Queued', node: undefined, nodeUID: undefined, bytes: undefined },
    due: 60,
  },
  {
    name: 'Queued adopts a mover that the status does not record',
    replica: queued,
    observed: { mover: STARTING },
    want: { state: 'Starting', reason: 'Starting', since: at(0) },
    due: 30,
  },
  {
    name: 'Starting shows why its mover waits',
    replica: { state: 'Starting', since: at(-5) },
    observed: { mover: { kind: 'waiting', reason: 'ErrImagePull', message: 'not found' } },
    want: { state: 'Starting', reason: 'ErrImagePull', message: 'not found', since: at(-5) },
    due: 30,
  },
  {
    name: 'Starting is checked when the start timeout is over',
    replica: { state: 'Starting', since: at(-1790) },
    observed: { mover: STARTING },
    want: { state: 'Starting' },
    due: 10,
  },
  {
    name: 'Starting waits as long as the start timeout',
    replica: { state: 'Starting', since: at(-1800) },
    observed: { mover: STARTING },
    want: { state: 'Starting' },
    due: 0,
  },
  {
    name: 'Starting fails after the start timeout, and tries another node',
    replica: { state: 'Starting', since: at(-1801) },
    observed: { mover: { ...STARTING, node: 'n1' } },
    want: { state: 'Failed', reason: 'PrepareTimeout', node: undefined, failures: 1, retryTime: at(10) },
    due: 10,
  },
  ...['StartError', 'ImagePullBackOff', 'Unreachable'].map((code) => ({
    name: `Starting leaves a node without data after ${code}`,
    replica: { state: 'Starting' } as Partial<ReplicaStatus>,
    observed: { mover: failure({ node: 'n2', code, nodeFault: 'maybe' }) },
    want: {
      state: 'Failed' as const,
      node: undefined,
      retryTime: at(10),
      nodeFailures: [{ node: 'n2', reason: code, failures: 1, retryTime: at(60) }],
    },
    due: 10,
  })),
  {
    name: 'Downloading continues on a node with a part of the data',
    replica: downloading,
    observed: { mover: failure({ node: 'n2', code: 'Unreachable', nodeFault: 'maybe', bytes: 7 }) },
    want: {
      state: 'Failed',
      node: 'n2',
      bytes: 5,
      nodeFailures: [{ node: 'n2', reason: 'Unreachable', failures: 1, bytes: 7, retryTime: at(60) }],
    },
    due: 10,
  },
  {
    name: 'Downloading continues on it if its mover failed before it counted the data',
    replica: {
      ...downloading,
      nodeFailures: [{ node: 'n2', reason: 'Unreachable', failures: 1, bytes: 7, retryTime: at(-60) }],
    },
    observed: { mover: failure({ node: 'n2', code: 'Unreachable', nodeFault: 'maybe', bytes: 0 }) },
    want: {
      state: 'Failed',
      node: 'n2',
      nodeFailures: [{ node: 'n2', reason: 'Unreachable', failures: 2, bytes: 7, retryTime: at(120) }],
    },
    due: 10,
  },
  {
    name: 'Downloading leaves a node after three failures without progress',
    replica: {
      ...downloading,
      nodeFailures: [{ node: 'n2', reason: 'Unexpected', failures: 2, bytes: 7, retryTime: at(-60) }],
    },
    observed: { mover: failure({ node: 'n2', code: 'Unexpected', nodeFault: 'maybe', bytes: 7 }) },
    want: {
      state: 'Failed',
      node: undefined,
      bytes: undefined,
      nodeFailures: [{ node: 'n2', reason: 'Unexpected', failures: 3, bytes: 7, retryTime: at(240) }],
    },
    due: 10,
  },
  {
    name: 'Downloading stays on its node when the source is the cause',
    replica: downloading,
    observed: { mover: failure({ node: 'n2', code: 'SourceChanged' }) },
    want: { state: 'Failed', node: 'n2', nodeFailures: undefined },
    due: 10,
  },
  {
    name: 'Downloading forgets failures of nodes when the data arrives',
    replica: {
      ...downloading,
      nodeFailures: [{ node: 'n1', reason: 'Unexpected', failures: 2, retryTime: at(-60) }],
    },
    observed: { mover: succeeded() },
    want: { state: 'Ready', node: 'n2', nodeFailures: undefined },
  },
  {
    name: 'Failed retries when a node changes, if movers failed on other nodes',
    replica: {
      ...failed,
      reason: 'StartError',
      nodeFailures: [{ node: 'n1', reason: 'StartError', failures: 2, retryTime: at(60) }],
    },
    observed: { retryTriggers: new Set(['node']) },
    want: { state: 'Queued', attempt: 3 },
    due: 60,
  },
  {
    name: 'Starting fails on its node when its mover is gone',
    replica: { state: 'Starting' },
    want: { state: 'Failed', reason: 'PodDeleted', node: 'n1', failures: 1 },
    due: 10,
  },
  {
    name: 'Starting downloads when its mover runs',
    replica: { state: 'Starting' },
    observed: { mover: RUNNING },
    want: { state: 'Downloading', node: 'n2', reason: 'Downloading', message: undefined },
    due: 30,
  },
  {
    name: 'Downloading keeps its bytes until its mover has counted the data',
    replica: { ...downloading, attempt: 2, totalBytes: 9 },
    observed: { mover: RUNNING, progress: { attempt: 2, bytes: 0, files: 0 } },
    want: { bytes: 5, totalBytes: 9, progressTime: at(-10) },
    due: 30,
  },
  {
    name: 'Downloading continues on its node if the first failure there knows no bytes',
    replica: { ...downloading, attempt: 2 },
    observed: { mover: failure({ node: 'n2', code: 'Unreachable', nodeFault: 'maybe', bytes: 0 }) },
    want: {
      state: 'Failed',
      node: 'n2',
      bytes: 5,
      nodeFailures: [{ node: 'n2', reason: 'Unreachable', failures: 1, bytes: 5, retryTime: at(60) }],
    },
    due: 10,
  },
  {
    name: 'Downloading records bytes',
    replica: downloading,
    observed: { mover: RUNNING, progress: { attempt: 1, bytes: 6, files: 1, totalBytes: 9 } },
    want: { bytes: 6, totalBytes: 9, progressTime: at(0) },
    due: 30,
  },
  {
    name: 'Downloading records bytes of a known total',
    replica: { ...downloading, totalBytes: 9 },
    observed: { mover: RUNNING, progress: { attempt: 1, bytes: 6, files: 1, totalBytes: 9 } },
    want: { bytes: 6, totalBytes: 9, progressTime: at(0) },
    due: 30,
  },
  {
    name: 'Downloading makes no progress when its mover reports the same bytes',
    replica: { ...downloading, totalBytes: 9 },
    observed: { mover: RUNNING, progress: { attempt: 1, bytes: 5, files: 1, totalBytes: 9 } },
    want: { bytes: 5, progressTime: at(-10) },
    due: 30,
  },
  {
    name: 'Downloading records a total that grows',
    replica: { ...downloading, totalBytes: 8 },
    observed: { mover: RUNNING, progress: { attempt: 1, bytes: 5, files: 0, totalBytes: 9 } },
    want: { bytes: 5, totalBytes: 9, progressTime: at(0) },
    due: 30,
  },
  {
    name: 'Downloading ignores the progress of another attempt',
    replica: downloading,
    observed: { mover: RUNNING, progress: { attempt: 2, bytes: 6, files: 1 } },
    want: { bytes: 5, progressTime: at(-10) },
    due: 30,
  },
  {
    name: 'Downloading continues as long as the progress timeout',
    replica: { ...downloading, since: at(-9999), progressTime: at(-600) },
    observed: { mover: RUNNING },
    want: { state: 'Downloading' },
    due: 30,
  },
  {
    name: 'Downloading fails after the progress timeout, and continues on its node',
    replica: { ...downloading, since: at(-9999), progressTime: at(-601) },
    observed: { mover: RUNNING },
    want: { state: 'Failed', reason: 'Stalled', node: 'n2', bytes: 5 },
    due: 10,
  },
  {
    name: 'Downloading without any report of its mover fails, and says so',
    replica: { ...without(downloading, 'bytes', 'progressTime'), since: at(-601) },
    observed: { mover: RUNNING },
    want: { reason: 'Stalled', message: MESSAGES.Stalled(false) },
    due: 10,
  },
  {
    name: 'Downloading that has a report of its mover says that it made no progress',
    replica: { ...without(downloading, 'bytes', 'progressTime'), since: at(-9999) },
    observed: { mover: RUNNING, progress: { attempt: 2, bytes: 0, files: 0 } },
    want: { reason: 'Stalled', message: MESSAGES.Stalled(true) },
    due: 10,
  },
  {
    name: 'Downloading of a stream is checked more often before its first bytes',
    replica: { ...downloading, bytes: 0 },
    observed: { mover: RUNNING, sourceType: 'Stream' },
    want: { state: 'Downloading' },
    due: 5,
  },
  {
    name: 'Downloading of a stream is checked as usual after its first bytes',
    replica: downloading,
    observed: { mover: RUNNING, sourceType: 'Stream' },
    want: { state: 'Downloading' },
    due: 30,
  },
  {
    name: 'Downloading is Ready when its mover succeeded, without failures and progress',
    replica: { ...downloading, failures: 2, totalBytes: 9 },
    observed: { mover: succeeded() },
    want: {
      state: 'Ready',
      node: 'n2',
      nodeUID: 'u1',
      bytes: 9,
      since: at(0),
      failures: undefined,
      totalBytes: undefined,
      progressTime: undefined,
      reason: undefined,
    },
  },
  {
    name: 'Downloading is queued for another node when its node has the data already',
    replica: { ...downloading, failures: 1 },
    observed: { mover: succeeded(), nodeHasData: true },
    want: {
      state: 'Queued',
      reason: 'NodeTaken',
      message: 'node n2 has the data already',
      attempt: 2,
      node: undefined,
      failures: 1,
      bytes: undefined,
    },
    due: 60,
  },
  {
    name: 'Starting is queued for another node when earlier data is deleted on its node',
    replica: { state: 'Starting', node: undefined } as unknown as Partial<ReplicaStatus>,
    observed: { mover: RUNNING, isDeletionPending: true },
    want: {
      state: 'Queued',
      reason: 'DeletionPending',
      attempt: 2,
      node: undefined,
      message: 'earlier data of the volume on node n2 is deleted first',
    },
    due: 60,
  },
  {
    name: 'Downloading is not Ready when earlier data is deleted on its node',
    replica: downloading,
    observed: { mover: succeeded(), isDeletionPending: true },
    want: { state: 'Queued', reason: 'DeletionPending', attempt: 2, node: undefined, bytes: undefined },
    due: 60,
  },
  {
    name: 'Downloading is queued for its node again when the mover ran on an earlier node of that name',
    replica: { ...downloading, failures: 1 },
    observed: { mover: succeeded({ scheduledAt: NOW - 20_000 }), node: { ...READY_NODE, createdAt: NOW - 10_000 } },
    want: {
      state: 'Queued',
      reason: 'NodeReplaced',
      attempt: 2,
      node: 'n2',
      nodeUID: undefined,
      bytes: 5,
      message: 'node n2 was replaced; a mover checks its data',
      failures: undefined,
    },
    due: 60,
  },
  ...[
    { when: 'at the creation of its node', scheduledAt: NOW - 10_000, createdAt: NOW - 10_000 },
    { when: 'before a creation in the future', scheduledAt: NOW - 10_000, createdAt: NOW + 1000 },
  ].map(({ when, scheduledAt, createdAt }) => ({
    name: `Downloading is Ready when its mover was placed ${when}`,
    replica: downloading,
    observed: { mover: succeeded({ scheduledAt }), node: { ...READY_NODE, createdAt } },
    want: { state: 'Ready' as const, node: 'n2' },
  })),
  {
    name: 'Downloading is Ready when its mover succeeded on a node that is gone now',
    replica: downloading,
    observed: { mover: succeeded(), node: { kind: 'deleted' } },
    want: { state: 'Ready', node: 'n2', nodeUID: undefined },
  },
  {
    name: 'Downloading fails permanently with an error that only the user can repair',
    replica: downloading,
    observed: { mover: failure({ retry: false }) },
    want: { state: 'Failed', reason: 'AccessDenied', isPermanent: true, retryTime: at(60) },
    due: 60,
  },
  {
    name: 'Downloading leaves a node that caused the failure',
    replica: { ...downloading, isPermanent: true },
    observed: { mover: failure({ code: 'NoSpace', nodeFault: 'yes' as const, node: 'n2' }) },
    want: { state: 'Failed', reason: 'NoSpace', node: undefined, isPermanent: undefined },
    due: 10,
  },
  ...[
    { when: 'has changes and no mover has looked at it', totalBytes: undefined, hasChanges: true, node: 'n2' },
    { when: 'has changes and its mover reported no total yet', totalBytes: 0, hasChanges: true, node: 'n2' },
    { when: 'has changes, but a mover has listed the source', totalBytes: 9, hasChanges: true, node: undefined },
    { when: 'has no changes', totalBytes: undefined, hasChanges: false, node: undefined },
  ].map(({ when, totalBytes, hasChanges, node }) => ({
    name: `Downloading with a failure of its replaced node ${node ? 'stays on' : 'leaves'} it if the data ${when}`,
    replica: { ...downloading, isUnchecked: true },
    observed: { mover: failure({ code: 'Evicted', nodeFault: 'yes' as const, node: 'n2', totalBytes }), hasChanges },
    want: { state: 'Failed' as const, reason: 'Evicted', node, isUnchecked: node ? true : undefined },
    due: 10,
  })),
  {
    name: 'Failed leaves a replaced node that is gone now',
    replica: { ...failed, isUnchecked: true },
    observed: { node: { kind: 'deleted' }, hasChanges: true },
    want: { state: 'Failed', node: undefined, isUnchecked: undefined },
    due: 30,
  },
  { name: 'Failed waits for its retry', replica: failed, want: { state: 'Failed', attempt: 2, node: 'n1' }, due: 30 },
  {
    name: 'Failed is queued at its retry time',
    replica: { ...failed, retryTime: at(0) },
    want: { state: 'Queued', attempt: 3, failures: 1, reason: 'NoSpace', retryTime: undefined, since: at(0) },
    due: 60,
  },
  {
    name: 'Failed is queued at once when a Secret changed',
    replica: { ...failed, reason: 'AccessDenied' },
    observed: { retryTriggers: new Set(['secret']) },
    want: { state: 'Queued', attempt: 3 },
    due: 60,
  },
  {
    name: 'Failed is queued at once when the spec changed, without the failures of the old one',
    replica: { ...failed, nodeFailures: [{ node: 'n2', reason: 'NoSpace', failures: 3, retryTime: at(60) }] },
    observed: { retryTriggers: new Set(['spec']) },
    want: { state: 'Queued', attempt: 3, failures: undefined, nodeFailures: undefined },
    due: 60,
  },
  {
    name: 'Failed is queued at once when the API server may accept its mover',
    replica: { ...failed, reason: 'CreateRefused' },
    observed: { retryTriggers: new Set(['namespace']) },
    want: { state: 'Queued', attempt: 3, reason: 'CreateRefused' },
    due: 60,
  },
  {
    name: 'Failed is queued at once when a node has free disk',
    replica: failed,
    observed: { retryTriggers: new Set(['node']) },
    want: { state: 'Queued', attempt: 3 },
    due: 60,
  },
  {
    name: 'Failed waits when a node changed that did not cause the failure',
    replica: { ...failed, reason: 'AccessDenied' },
    observed: { retryTriggers: new Set(['node']) },
    want: { state: 'Failed' },
    due: 30,
  },
  { name: 'Ready stays while its node is ready', replica: { nodeUID: 'u1' }, want: { state: 'Ready' } },
  {
    name: 'Ready stays on a node whose uid is not known',
    replica: { nodeUID: 'u1' },
    observed: { node: { ...READY_NODE, uid: undefined } },
    want: { state: 'Ready', node: 'n1' },
  },
  {
    name: 'Ready without a node stays',
    replica: { node: undefined as never },
    observed: { node: undefined },
    want: { state: 'Ready' },
  },
  {
    name: 'Ready is queued when its node is gone',
    replica: { nodeUID: 'u1', bytes: 9, failures: 1 },
    observed: { node: { kind: 'deleted' } },
    want: {
      state: 'Queued',
      reason: 'NodeGone',
      message: 'node n1 was deleted',
      attempt: 2,
      node: undefined,
      nodeUID: undefined,
      bytes: undefined,
      failures: undefined,
    },
    due: 60,
  },
  {
    name: 'Ready is checked when its node was replaced',
    replica: { nodeUID: 'u0' },
    want: { state: 'Queued', reason: 'NodeReplaced', node: 'n1', nodeUID: undefined, attempt: 2, isUnchecked: true },
    due: 60,
  },
  {
    name: 'Ready waits for a node that is not ready',
    replica: { nodeUID: 'u1' },
    observed: { node: unready(-299) },
    want: { state: 'Ready' },
    due: 1,
  },
  {
    name: 'Ready is Unreachable when its node is not ready for too long',
    replica: { nodeUID: 'u1' },
    observed: { node: unready(-300) },
    want: { state: 'Unreachable', reason: 'NodeNotReady', node: 'n1', since: at(0) },
  },
  {
    name: 'Ready waits from now on for a node without a transition time',
    replica: {},
    observed: { node: unready() },
    want: { state: 'Ready' },
    due: 300,
  },
  {
    name: 'Unreachable stays while its node is not ready',
    replica: { state: 'Unreachable', since: at(-50) },
    observed: { node: unready(-350) },
    want: { state: 'Unreachable', since: at(-50) },
  },
  {
    name: 'Unreachable is Ready when its node is ready',
    replica: { state: 'Unreachable' },
    want: { state: 'Ready', since: at(0) },
  },
  {
    name: 'Unreachable is queued when its node is gone',
    replica: { state: 'Unreachable' },
    observed: { node: { kind: 'deleted' } },
    want: { state: 'Queued', reason: 'NodeGone' },
    due: 60,
  },
  { name: 'Evicted stays while no pod waits for it', replica: { state: 'Evicted' }, want: { state: 'Evicted' } },
  {
    name: 'Evicted is queued when a pod waits for it',
    replica: { state: 'Evicted' },
    observed: { isDemanded: true },
    want: { state: 'Queued', reason: 'Demanded', attempt: 2 },
    due: 60,
  },
])('$name', ({ replica, observed = {}, want, due }) => {
  const { next, dueAt } = stepDownload(makeDownload({ since: at(0), ...replica }), { ...DEFAULTS, ...observed })
  const members = next as unknown as Record<string, unknown>

  expect(Object.fromEntries(Object.keys(want).map((key) => [key, members[key]]))).toEqual(want)
  expect(dueAt).toBe(due === undefined ? undefined : NOW + due * 1000)
})

test('data that arrives comes with its mover', () => {
  const mover = succeeded()
  const arrived = stepDownload(makeDownload(downloading), { ...DEFAULTS, mover })
  const gone = stepDownload(makeDownload({}), { ...DEFAULTS, node: { kind: 'deleted' } })

  expect([arrived.arrived, arrived.isGone]).toEqual([mover, undefined])
  expect([gone.arrived, gone.isGone]).toEqual([undefined, true])
})

test('lost data is downloaded again on its node, with its files verified', () => {
  const failure = { kind: 'failed', code: 'DataMissing', message: 'why', retry: true, nodeFault: 'maybe' } as const

  expect(loseData(makeDownload({ bytes: 9 }), failure, NOW)).toEqual({
    next: makeDownload({ state: 'Queued', attempt: 2, isDamaged: true, reason: 'DataMissing', message: 'why' }),
    dueAt: NOW + 60_000,
  })
})

test('evicted data is on no node', () => {
  expect(evictData(makeDownload({ nodeUID: 'u1', bytes: 9, since: at(-9) }), 'DiskPressure', NOW)).toEqual({
    state: 'Evicted',
    attempt: 1,
    since: at(0),
    reason: 'DiskPressure',
    message: 'deleted on n1, which is short of disk',
  })
})

describe('a replica can be used', () => {
  test.each<{ name: string; replica: Partial<ReplicaStatus>; sourceType: string; want: boolean }>([
    { name: 'when it is ready', replica: {}, sourceType: 'S3', want: true },
    { name: 'not while it downloads', replica: { ...downloading }, sourceType: 'S3', want: false },
    { name: 'from the first bytes of a stream', replica: { ...downloading }, sourceType: 'Stream', want: true },
    {
      name: 'not before the first bytes of a stream',
      replica: { ...downloading, bytes: 0 },
      sourceType: 'Stream',
      want: false,
    },
    {
      name: 'not on no node',
      replica: { ...downloading, node: undefined as never },
      sourceType: 'Stream',
      want: false,
    },
    { name: 'not after its eviction', replica: { state: 'Evicted', bytes: 5 }, sourceType: 'Stream', want: false },
  ])('$name: $want', ({ replica, sourceType, want }) => {
    expect(isUsable(makeReplica(replica), sourceType)).toBe(want)
  })
})
