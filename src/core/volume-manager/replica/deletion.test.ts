import { expect, test } from 'vitest'
import { NOW } from '../../../../test/builders.ts'
import { at, makeDeletion, makeDeletionObservation } from '../../../../test/volume-builders.ts'
import type { DeletionStatus } from '../../../api/volume-status.ts'
import { type DeletionObservation, startDeleting, stepDeletion } from './deletion.ts'

const RUNNING = { kind: 'running', node: 'n1' } as const
const users = (...names: string[]) => names.map((name) => ({ pod: `default/${name}`, node: 'n1' }))
const WRITER = { pod: 'default/m', hasEnded: false }
const old = { since: at(-60) }

interface Case {
  name: string
  of?: Partial<DeletionStatus>
  observed?: Partial<DeletionObservation>
  want: { [K in keyof DeletionStatus]?: DeletionStatus[K] | undefined }
  /** Seconds until the next check. */
  due: number
}

test.each<Case>([
  {
    name: 'waits 3 s for pods that were scheduled before',
    of: { since: at(-2) },
    want: { state: 'Waiting', reason: 'NodeLabel' },
    due: 3,
  },
  { name: 'is queued after 3 s', of: { since: at(-3) }, want: { state: 'Queued', reason: undefined }, due: 60 },
  {
    name: 'is queued at once when the node had no label for the data',
    of: { nodeLabels: [] },
    want: { state: 'Queued' },
    due: 60,
  },
  {
    name: 'is queued at once when the annotation allows it',
    observed: { evenInUse: true },
    want: { state: 'Queued' },
    due: 60,
  },
  {
    name: 'waits while the node has the label, even when the annotation allows the deletion',
    of: old,
    observed: { labelled: true, evenInUse: true },
    want: { state: 'Waiting', reason: 'NodeLabel', since: at(-60) },
    due: 3,
  },
  {
    name: 'waits for the pods that use the data, and names them',
    of: old,
    observed: { users: users('b', 'a') },
    want: { state: 'Waiting', reason: 'InUse', message: 'in use by default/a, default/b' },
    due: 3,
  },
  {
    name: 'waits for the claim of the data',
    of: old,
    observed: { claimed: true },
    want: { state: 'Waiting', reason: 'Claim' },
    due: 3,
  },
  {
    name: 'does not wait for the claim when the annotation allows the deletion',
    of: old,
    observed: { claimed: true, evenInUse: true },
    want: { state: 'Queued' },
    due: 60,
  },
  {
    name: 'names all of three pods',
    of: old,
    observed: { users: users('c', 'b', 'a') },
    want: { message: 'in use by default/a, default/b, default/c' },
    due: 3,
  },
  {
    name: 'names three of many pods',
    of: old,
    observed: { users: users('d', 'c', 'b', 'a', 'e') },
    want: { message: 'in use by default/a, default/b, default/c and 2 more' },
    due: 3,
  },
  {
    name: 'does not wait for pods when the annotation allows it',
    of: old,
    observed: { users: users('a'), evenInUse: true },
    want: { state: 'Queued' },
    due: 60,
  },
  {
    name: 'waits for a mover that writes the data',
    of: old,
    observed: { writer: WRITER },
    want: { state: 'Waiting', reason: 'MoverRunning', message: 'a mover still writes the data' },
    due: 3,
  },
  {
    name: 'names the pod of an ended mover, which a finalizer keeps',
    of: old,
    observed: { writer: { ...WRITER, hasEnded: true } },
    want: {
      state: 'Waiting',
      reason: 'MoverRunning',
      message: 'the pod default/m of an earlier mover still exists; remove its finalizers if it stays',
    },
    due: 3,
  },
  {
    name: 'is repeated when a mover may have written data after it',
    of: { state: 'Deleting', ...old },
    observed: { mover: { kind: 'succeeded', node: 'n1' }, writer: WRITER },
    want: { state: 'Waiting', reason: 'MoverRunning', attempt: 2 },
    due: 3,
  },
  {
    name: 'waits for a node that is not ready, and not only for the movers on it',
    of: old,
    observed: { nodeReady: false, writer: WRITER },
    want: { state: 'Waiting', reason: 'NodeUnready', message: 'the node is not ready' },
    due: 60,
  },
  {
    name: 'leaves the queue when its node ceases to be ready',
    of: { state: 'Queued', ...old },
    observed: { nodeReady: false },
    want: { state: 'Waiting', reason: 'NodeUnready', since: at(0) },
    due: 60,
  },
  {
    name: 'leaves the queue when a pod uses the data',
    of: { state: 'Queued', ...old },
    observed: { users: users('a') },
    want: { state: 'Waiting', reason: 'InUse', since: at(0) },
    due: 3,
  },
  { name: 'stays queued', of: { state: 'Queued', ...old }, want: { state: 'Queued', since: at(-60) }, due: 60 },
  {
    name: 'adopts a mover that the status does not record',
    of: { state: 'Queued', ...old },
    observed: { mover: RUNNING },
    want: { state: 'Deleting', since: at(0), progressTime: at(0) },
    due: 60,
  },
  {
    name: 'records the progress of its mover',
    of: { state: 'Deleting' },
    observed: { mover: RUNNING, progress: { attempt: 1, bytes: 7, files: 2 } },
    want: { state: 'Deleting', bytes: 7, files: 2 },
    due: 60,
  },
  {
    name: 'fails with its mover, and is retried soon after every failure',
    of: { state: 'Deleting', bytes: 7, failures: 1 },
    observed: { mover: { kind: 'failed', code: 'Unexpected', message: 'no', retry: false, nodeFault: 'no' as const } },
    want: { state: 'Failed', reason: 'Unexpected', message: 'no', failures: 2, bytes: undefined, retryTime: at(20) },
    due: 20,
  },
  {
    name: 'fails when its mover is gone',
    of: { state: 'Deleting' },
    want: { state: 'Failed', reason: 'PodDeleted', retryTime: at(10) },
    due: 10,
  },
  {
    name: 'has 5 minutes to find room on its node',
    of: { state: 'Deleting', since: at(-300) },
    observed: { mover: { kind: 'waiting', reason: 'Unschedulable', message: 'Insufficient cpu' } },
    want: { state: 'Deleting', reason: 'Unschedulable', message: 'Insufficient cpu', since: at(-300) },
    due: 60,
  },
  {
    name: 'without room on its node gives its slot to other deletions',
    of: { state: 'Deleting', since: at(-301) },
    observed: { mover: { kind: 'waiting', reason: 'Unschedulable', message: 'Insufficient cpu' } },
    want: { state: 'Failed', reason: 'PrepareTimeout', message: 'did not start in time: Insufficient cpu' },
    due: 10,
  },
  {
    name: 'has as long as other movers to start while no scheduler works',
    of: { state: 'Deleting', since: at(-1800) },
    observed: { mover: { kind: 'waiting', reason: 'Starting', message: 'the mover was created' } },
    want: { state: 'Deleting', reason: undefined },
    due: 60,
  },
  {
    name: 'has as long as other movers to start when its node has room',
    of: { state: 'Deleting', since: at(-1800) },
    observed: { mover: { kind: 'waiting', node: 'n1', reason: 'ContainerCreating', message: 'pulls its image' } },
    want: { state: 'Deleting', reason: 'ContainerCreating' },
    due: 60,
  },
  {
    name: 'waits for its retry',
    of: { state: 'Failed', retryTime: at(9) },
    want: { state: 'Failed', attempt: 1 },
    due: 9,
  },
  {
    name: 'is queued for another attempt at its retry time',
    of: { state: 'Failed', retryTime: at(0), reason: 'Unexpected', failures: 1 },
    want: { state: 'Queued', attempt: 2, failures: 1, retryTime: undefined, reason: undefined },
    due: 60,
  },
  {
    name: 'is queued at once when its node recovered',
    of: { state: 'Failed', retryTime: at(9) },
    observed: { retryTriggers: new Set(['node']) },
    want: { state: 'Queued', attempt: 2 },
    due: 60,
  },
  {
    name: 'is queued at once when the spec changed, such as the image of its mover',
    of: { state: 'Failed', retryTime: at(9) },
    observed: { retryTriggers: new Set(['spec']) },
    want: { state: 'Queued', attempt: 2 },
    due: 60,
  },
  {
    name: 'waits for its retry when a Secret changed',
    of: { state: 'Failed', retryTime: at(9) },
    observed: { retryTriggers: new Set(['secret']) },
    want: { state: 'Failed' },
    due: 9,
  },
  {
    name: 'is queued at once when the API server may accept its mover, with the reason of the rejection',
    of: { state: 'Failed', reason: 'CreateRefused', message: 'quota', retryTime: at(9), since: at(-60) },
    observed: { retryTriggers: new Set(['namespace']) },
    want: { state: 'Queued', attempt: 2, reason: 'CreateRefused', message: 'quota' },
    due: 60,
  },
  {
    name: 'that failed for another reason waits for its retry when a pod left the namespace',
    of: { state: 'Failed', reason: 'Unexpected', retryTime: at(9) },
    observed: { retryTriggers: new Set(['namespace']) },
    want: { state: 'Failed' },
    due: 9,
  },
])('a deletion $name', ({ of = {}, observed = {}, want, due }) => {
  const step = stepDeletion(makeDeletion(of), makeDeletionObservation(observed))
  const members: Record<string, unknown> = { ...step?.next }

  expect(Object.fromEntries(Object.keys(want).map((key) => [key, members[key]]))).toEqual(want)
  expect(members['cause']).toBe('ScaledDown')
  expect(step?.dueAt).toBe(NOW + due * 1000)
})

test.each<{ name: string; of?: Partial<DeletionStatus>; observed: Partial<DeletionObservation> }>([
  { name: 'when its mover succeeded', of: { state: 'Deleting' }, observed: { mover: { kind: 'succeeded' } } },
  { name: 'when it is a leftover of its node', observed: { isLeftover: true, nodeReady: false, users: users('a') } },
  { name: 'when the node is gone, even in use', observed: { nodeGone: true, users: users('a') } },
])('the data is gone $name', ({ of = {}, observed }) => {
  expect(stepDeletion(makeDeletion(of), makeDeletionObservation(observed))).toBeUndefined()
})

test('a new attempt begins without the progress and the reason of the last one', () => {
  const before = makeDeletion({ state: 'Queued', bytes: 7, files: 2, progressTime: at(-9), message: 'old' })
  const { message: _, ...queued } = makeDeletion()

  expect(startDeleting(before, NOW)).toEqual({ ...queued, state: 'Deleting', since: at(0) })
})
