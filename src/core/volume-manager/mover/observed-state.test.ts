import { describe, expect, test } from 'vitest'
import { ended, moverSays as said } from '../../../../test/volume-world.ts'
import type { Pod, PodStatus } from '../../../api/pod.ts'
import { moverStateOf } from './observed-state.ts'

function makeMover(status: PodStatus | undefined, metadata: Pod['metadata'] = {}): Pod {
  const spec = { containers: [], nodeName: 'n1' }
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'mover', ...metadata }, spec, ...(status && { status }) }
}
const waiting = (reason: string): PodStatus => ({
  phase: 'Pending',
  containerStatuses: [{ name: 'mover', state: { waiting: { reason, message: 'why' } } }],
})

describe('a mover that has ended', () => {
  test.each<{ name: string; status: PodStatus; want: object }>([
    {
      name: 'well',
      status: ended('Succeeded', {
        message: said({ outcome: 'completed', bytes: 7 }),
        finishedAt: '2026-01-01T00:00:05Z',
      }),
      want: { kind: 'succeeded', bytes: 7, endTime: '2026-01-01T00:00:05Z' },
    },
    { name: 'well, without a word', status: { phase: 'Succeeded' }, want: { kind: 'succeeded' } },
    {
      name: 'well, in words that are none',
      status: ended('Succeeded', { message: '{"v":1' }),
      want: { kind: 'succeeded' },
    },
    {
      name: 'well, but says that it failed',
      status: ended('Succeeded', { message: said({ outcome: 'failed' }) }),
      want: { kind: 'failed', code: 'Unexpected' },
    },
    {
      name: 'with a code',
      status: ended('Failed', {
        message: said({ outcome: 'failed', code: 'NotFound', retry: false, message: 'no bucket' }),
      }),
      want: { kind: 'failed', code: 'NotFound', message: 'no bucket', retry: false, elsewhere: false },
    },
    {
      name: 'because the node has no space',
      status: ended('Failed', { message: said({ outcome: 'failed', code: 'NoSpace', retry: false }) }),
      want: { code: 'NoSpace', elsewhere: true },
    },
    {
      name: 'with a code that is none',
      status: ended('Failed', { exitCode: 1, message: said({ code: 'a b', message: 'c' }) }),
      want: { code: 'Unexpected', message: expect.stringContaining('"a b"') },
    },
    {
      name: 'with a result that lacks what the contract has in it',
      status: ended('Failed', { exitCode: 3, message: '{"v":1,"outcome":"failed","code":"NotFound"}' }),
      want: { code: 'Unexpected', retry: true },
    },
    {
      name: 'because it was told to',
      status: ended('Failed', { message: said({ outcome: 'canceled' }) }),
      want: { code: 'Canceled', retry: true },
    },
    {
      name: 'with lines of a log',
      status: ended('Failed', { exitCode: 1, reason: 'Error', message: 'curl: (6)' }),
      want: { code: 'Unexpected', message: 'curl: (6)', retry: true },
    },
    {
      name: 'by options that make no sense',
      status: ended('Failed', { exitCode: 2, reason: 'Error', message: 'unknown option --flatt' }),
      want: { code: 'WrongOptions', message: 'unknown option --flatt', retry: false },
    },
    {
      name: 'without memory',
      status: ended('Failed', { exitCode: 137, reason: 'OOMKilled' }),
      want: { code: 'OOMKilled', retry: true },
    },
    {
      name: 'evicted',
      status: { phase: 'Failed', reason: 'Evicted', message: 'low on disk' },
      want: { code: 'Evicted', message: 'low on disk', elsewhere: true },
    },
    {
      name: 'refused by the kubelet',
      status: { phase: 'Failed', reason: 'OutOfcpu', message: 'no cpu' },
      want: { code: 'OutOfcpu', elsewhere: true },
    },
    {
      name: 'out of time',
      status: { phase: 'Failed', reason: 'DeadlineExceeded', message: 'x' },
      want: { code: 'DeadlineExceeded', message: 'timed out waiting for the condition', elsewhere: false },
    },
    {
      name: 'without anything',
      status: { phase: 'Failed' },
      want: { code: 'Unexpected', message: 'exit status unknown' },
    },
  ])('$name', ({ status, want }) => {
    expect(moverStateOf(makeMover(status), 0)).toMatchObject({ node: 'n1', ...want })
  })

  test('with a long story is cut short', () => {
    const view = moverStateOf(makeMover(ended('Failed', { message: 'x'.repeat(4096) })), 0)
    expect(view).toMatchObject({ message: expect.stringMatching(/^x{511}…$/) })
  })
})

describe('a mover that has not begun', () => {
  test.each<{ reason: string; early: string; late: string }>([
    { reason: 'ContainerCreating', early: 'waiting', late: 'waiting' },
    { reason: 'ErrImagePull', early: 'waiting', late: 'failed' },
    { reason: 'ImagePullBackOff', early: 'waiting', late: 'failed' },
    { reason: 'CreateContainerConfigError', early: 'waiting', late: 'failed' },
    { reason: 'InvalidImageName', early: 'failed', late: 'failed' },
    { reason: 'ErrImageNeverPull', early: 'failed', late: 'failed' },
  ])('$reason is $early at first, and $late after a minute', ({ reason, early, late }) => {
    expect(moverStateOf(makeMover(waiting(reason)), 1_000).kind).toBe(early)
    expect(moverStateOf(makeMover(waiting(reason)), 61_000).kind).toBe(late)
  })

  test('on its node after a minute says where the reason can be read', () => {
    expect(moverStateOf(makeMover(waiting('ContainerCreating')), 1_000)).toMatchObject({ reason: 'Starting' })
    expect(moverStateOf(makeMover(waiting('ContainerCreating')), 61_000)).toMatchObject({
      reason: 'ContainerCreating',
      message: expect.stringContaining('kubectl describe pod mover'),
    })
  })

  test('says why the scheduler has no node for it', () => {
    const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/3 nodes' }]
    expect(moverStateOf(makeMover({ phase: 'Pending', conditions }), 0)).toMatchObject({
      kind: 'waiting',
      reason: 'Unschedulable',
      message: '0/3 nodes',
    })
  })
})

test('a mover that is being deleted is as good as deleted, but its result still counts', () => {
  const metadata = { deletionTimestamp: '2026-01-02T03:04:05Z' }
  expect(moverStateOf(makeMover({ phase: 'Running' }, metadata), 0)).toMatchObject({
    kind: 'failed',
    code: 'PodDeleted',
  })
  expect(moverStateOf(makeMover({ phase: 'Succeeded' }, metadata), 0)).toMatchObject({ kind: 'succeeded' })
})
