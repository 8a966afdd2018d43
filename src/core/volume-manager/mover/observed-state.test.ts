import { describe, expect, test } from 'vitest'
import { at, makeMover as makeReplicaMover, makeVolumeInput } from '../../../../test/volume-builders.ts'
import { ended, moverSays as said } from '../../../../test/volume-world.ts'
import type { Pod, PodStatus } from '../../../api/pod.ts'
import { isForNode, moverState, observeMover, overdue } from './observed-state.ts'

function makeMover(status: PodStatus | undefined, metadata: Pod['metadata'] = {}): Pod {
  const spec = { containers: [], nodeName: 'n1' }
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'mover', ...metadata }, spec, ...(status && { status }) }
}
const STARTING = { kind: 'waiting', node: 'n1', reason: 'Starting', message: 'the mover was created' }
const waiting = (reason: string): PodStatus => ({
  phase: 'Pending',
  containerStatuses: [{ name: 'mover', state: { waiting: { reason, message: 'why' } } }],
})

describe('a mover that has ended', () => {
  test.each<{ name: string; status: PodStatus; want: object }>([
    {
      name: 'successfully',
      status: ended('Succeeded', {
        message: said({ outcome: 'completed', bytes: 7 }),
        finishedAt: '2026-01-01T00:00:05Z',
      }),
      want: { kind: 'succeeded', bytes: 7, endTime: '2026-01-01T00:00:05Z' },
    },
    {
      name: 'successfully, with the time at which it was placed',
      status: {
        phase: 'Succeeded',
        conditions: [{ type: 'PodScheduled', status: 'True', lastTransitionTime: '2026-01-01T00:00:05Z' }],
      },
      want: { kind: 'succeeded', scheduledAt: Date.parse('2026-01-01T00:00:05Z') },
    },
    { name: 'successfully, without a result', status: { phase: 'Succeeded' }, want: { kind: 'succeeded' } },
    {
      name: 'successfully, with an invalid result',
      status: ended('Succeeded', { message: '{"v":1' }),
      want: { kind: 'succeeded' },
    },
    {
      name: 'successfully, with a result that it failed',
      status: ended('Succeeded', { message: said({ outcome: 'failed' }) }),
      want: { kind: 'failed', code: 'Unexpected', message: 'the mover succeeded but reported failed', retry: true },
    },
    {
      name: 'successfully, with a result that it failed and why',
      status: ended('Succeeded', { message: said({ outcome: 'failed', message: 'no bucket' }) }),
      want: { kind: 'failed', message: 'the mover succeeded but reported no bucket' },
    },
    {
      name: 'with the code of a failure',
      status: ended('Failed', {
        message: said({ outcome: 'failed', code: 'NotFound', retry: false, message: 'no bucket' }),
      }),
      want: {
        kind: 'failed',
        code: 'NotFound',
        message: 'no bucket',
        retry: false,
        nodeFault: 'no',
        bytes: 0,
      },
    },
    {
      name: 'because the disk of the node is full',
      status: ended('Failed', { message: said({ outcome: 'failed', code: 'NoSpace', retry: false }) }),
      want: { code: 'NoSpace', message: 'NoSpace', retry: false, nodeFault: 'yes' },
    },
    {
      name: 'has a node whose clock is wrong',
      status: ended('Failed', { message: said({ outcome: 'failed', code: 'ClockSkew', message: 'wrong\n' }) }),
      want: { code: 'ClockSkew', message: 'wrong', retry: true, nodeFault: 'yes' },
    },
    {
      name: 'with the code of a failure that may pass',
      status: ended('Failed', { message: said({ outcome: 'failed', code: 'Unreachable', message: 'no route\n' }) }),
      want: { code: 'Unreachable', message: 'no route', retry: true, nodeFault: 'maybe' },
    },
    {
      name: 'with an invalid code',
      status: ended('Failed', { exitCode: 1, message: said({ code: 'a b', message: 'c' }) }),
      want: { code: 'Unexpected', message: expect.stringContaining('"a b"') },
    },
    {
      name: 'with a result without required fields',
      status: ended('Failed', { exitCode: 3, message: '{"v":1,"outcome":"failed","code":"NotFound"}' }),
      want: { code: 'Unexpected', retry: true },
    },
    {
      name: 'because it was canceled',
      status: ended('Failed', { message: said({ outcome: 'canceled' }) }),
      want: { code: 'Canceled', retry: true },
    },
    {
      name: 'with lines of its log as termination message',
      status: ended('Failed', { exitCode: 1, reason: 'Error', message: 'curl: (6)' }),
      want: { code: 'Unexpected', message: 'curl: (6)', retry: true },
    },
    {
      name: 'because of invalid options',
      status: ended('Failed', { exitCode: 2, reason: 'Error', message: 'unknown option --flatt' }),
      want: { code: 'WrongOptions', message: 'unknown option --flatt', retry: false },
    },
    {
      name: 'because it ran out of memory',
      status: ended('Failed', { exitCode: 137, reason: 'OOMKilled' }),
      want: { code: 'OOMKilled', message: 'the mover ran out of memory', retry: true },
    },
    {
      name: 'for a reason of the container runtime',
      status: ended('Failed', { exitCode: 128, reason: 'StartError', message: 'no such file' }),
      want: { code: 'StartError', message: 'no such file', retry: true },
    },
    {
      name: 'because the kubelet evicted it',
      status: { phase: 'Failed', reason: 'Evicted', message: 'low on disk' },
      want: { code: 'Evicted', message: 'low on disk', retry: true, nodeFault: 'yes' },
    },
    {
      name: 'because the kubelet evicted it, without a message',
      status: { phase: 'Failed', reason: 'Evicted' },
      want: { code: 'Evicted', message: 'Evicted' },
    },
    {
      name: 'for an unknown reason',
      status: { phase: 'Failed', reason: 'NotOutOfLuck', message: 'why' },
      want: { code: 'Unexpected', message: 'why', nodeFault: 'maybe' },
    },
    {
      name: 'because the kubelet rejected it',
      status: { phase: 'Failed', reason: 'OutOfcpu', message: 'no cpu' },
      want: { code: 'OutOfcpu', nodeFault: 'yes' },
    },
    {
      name: 'because of its deadline',
      status: { phase: 'Failed', reason: 'DeadlineExceeded', message: 'x' },
      want: { code: 'DeadlineExceeded', message: 'timed out waiting for the condition', nodeFault: 'maybe' },
    },
    {
      name: 'without a reason',
      status: { phase: 'Failed' },
      want: { code: 'Unexpected', message: 'exit status unknown' },
    },
  ])('$name', ({ status, want }) => {
    expect(moverState(makeMover(status), 0)).toMatchObject({ node: 'n1', ...want })
  })

  test('has a message of at most 512 characters', () => {
    const view = moverState(makeMover(ended('Failed', { message: 'x'.repeat(4096) })), 0)
    expect(view).toMatchObject({ message: expect.stringMatching(/^x{511}…$/) })
  })
})

describe('a mover that has not begun', () => {
  test.each<{ reason: string; early: string; late: string }>([
    { reason: 'ContainerCreating', early: 'waiting', late: 'waiting' },
    { reason: 'PodInitializing', early: 'waiting', late: 'waiting' },
    { reason: 'ErrImagePull', early: 'waiting', late: 'failed' },
    { reason: 'ImagePullBackOff', early: 'waiting', late: 'failed' },
    { reason: 'CreateContainerConfigError', early: 'waiting', late: 'failed' },
    { reason: 'InvalidImageName', early: 'failed', late: 'failed' },
    { reason: 'ErrImageNeverPull', early: 'failed', late: 'failed' },
  ])('$reason is $early at first, and $late after a minute', ({ reason, early, late }) => {
    expect(moverState(makeMover(waiting(reason)), 1_000).kind).toBe(early)
    expect(moverState(makeMover(waiting(reason)), 60_000).kind).toBe(early)
    expect(moverState(makeMover(waiting(reason)), 61_000).kind).toBe(late)
  })

  test.each([
    ['CreateContainerConfigError', 'no'],
    ['InvalidImageName', 'no'],
    ['ErrImagePull', 'maybe'],
    ['ErrImageNeverPull', 'yes'],
  ])('for %s has the node as its cause: %s', (reason, nodeFault) => {
    expect(moverState(makeMover(waiting(reason)), 61_000)).toMatchObject({ nodeFault })
  })

  test.each<{ name: string; status: PodStatus | undefined; waitedMs?: number; want: object }>([
    { name: 'without a status', status: undefined, want: STARTING },
    { name: 'while its container is created', status: waiting('ContainerCreating'), waitedMs: 60_000, want: STARTING },
    { name: 'while it is initialized', status: waiting('PodInitializing'), want: STARTING },
    { name: 'with a container without a state', status: { containerStatuses: [{ name: 'mover' }] }, want: STARTING },
    {
      name: 'with the reason of the kubelet',
      status: waiting('ErrImagePull'),
      want: { kind: 'waiting', node: 'n1', reason: 'ErrImagePull', message: 'why' },
    },
    {
      name: 'with a reason without a message',
      status: { containerStatuses: [{ name: 'mover', state: { waiting: { reason: 'ErrImagePull' } } }] },
      want: { kind: 'waiting', node: 'n1', reason: 'ErrImagePull', message: 'ErrImagePull' },
    },
    {
      name: 'with a final reason',
      status: waiting('InvalidImageName'),
      want: {
        kind: 'failed',
        node: 'n1',
        code: 'InvalidImageName',
        message: 'why',
        retry: true,
        nodeFault: 'no',
      },
    },
    {
      name: 'with a final reason without a message',
      status: { containerStatuses: [{ name: 'mover', state: { waiting: { reason: 'InvalidImageName' } } }] },
      want: {
        kind: 'failed',
        node: 'n1',
        code: 'InvalidImageName',
        message: 'InvalidImageName',
        retry: true,
        nodeFault: 'no',
      },
    },
    {
      name: 'with a condition that is True',
      status: {
        conditions: [
          { type: 'PodScheduled', status: 'True' },
          { type: 'Ready', status: 'False' },
        ],
      },
      want: STARTING,
    },
    {
      name: 'without a node, when the scheduler gives no reason',
      status: {
        conditions: [
          { type: 'Ready', status: 'True' },
          { type: 'PodScheduled', status: 'False' },
        ],
      },
      want: { kind: 'waiting', node: 'n1', reason: 'Unschedulable', message: 'no node can take the mover' },
    },
    {
      name: 'because of a scheduling gate',
      status: {
        conditions: [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated', message: 'a gate' }],
      },
      want: { kind: 'waiting', node: 'n1', reason: 'SchedulingGated', message: 'a gate' },
    },
  ])('waits $name', ({ status, waitedMs = 0, want }) => {
    expect(moverState(makeMover(status), waitedMs)).toEqual(want)
  })

  test('runs when its Pod runs', () => {
    expect(moverState(makeMover({ phase: 'Running' }), 0)).toEqual({ kind: 'running', node: 'n1' })
  })

  test('on its node after a minute has a message with the command that shows the reason', () => {
    expect(moverState(makeMover(waiting('ContainerCreating')), 1_000)).toMatchObject({ reason: 'Starting' })
    expect(moverState(makeMover(waiting('ContainerCreating')), 61_000)).toMatchObject({
      reason: 'ContainerCreating',
      message: expect.stringContaining('kubectl describe pod mover'),
    })
  })

  test.each([
    { name: 'after a minute', waitedMs: 61_000, started: 'False', type: 'Directory', want: 'PathNotMounted' },
    { name: 'at first', waitedMs: 59_000, started: 'False', type: 'Directory', want: undefined },
    { name: 'that is mounted', waitedMs: 61_000, started: 'True', type: 'Directory', want: undefined },
    { name: 'that is created', waitedMs: 61_000, started: 'False', type: 'DirectoryOrCreate', want: undefined },
  ])('for a directory of a node $name fails with $want', ({ waitedMs, started, type, want }) => {
    const status = {
      ...waiting('ContainerCreating'),
      conditions: [{ type: 'PodReadyToStartContainers', status: started }],
    }
    const pod = makeMover(status)
    const spec = { ...pod.spec, volumes: [{ name: 'volume', hostPath: { path: '/mnt/x', type } }] }
    const state = moverState({ ...pod, spec }, waitedMs)

    expect('code' in state ? state.code : undefined).toBe(want)
    expect(state.kind).toBe(want ? 'failed' : 'waiting')
  })

  test('is given a minute from the time at which it was scheduled', () => {
    const placed = { type: 'PodScheduled', status: 'True', lastTransitionTime: at(-30) }
    const pod = makeReplicaMover({}, { ...waiting('ImagePullBackOff'), conditions: [placed] }, 'n1')

    expect(observeMover(makeVolumeInput(), 'mover', pod, at(-300)).mover).toMatchObject({ kind: 'waiting' })
  })

  test('has the message of the scheduler', () => {
    const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/3 nodes' }]
    expect(moverState(makeMover({ phase: 'Pending', conditions }), 0)).toMatchObject({
      kind: 'waiting',
      reason: 'Unschedulable',
      message: '0/3 nodes',
    })
  })
})

test('a mover that is being deleted counts as deleted, unless it has a result', () => {
  const metadata = { deletionTimestamp: '2026-01-02T03:04:05Z' }
  expect(moverState(makeMover({ phase: 'Running' }, metadata), 0)).toMatchObject({
    kind: 'failed',
    code: 'PodDeleted',
  })
  expect(moverState(makeMover({ phase: 'Succeeded' }, metadata), 0)).toMatchObject({ kind: 'succeeded' })
})

describe('the mover of a task', () => {
  const pending = makeReplicaMover({}, waiting('ErrImagePull'), 'n1')
  const name = pending.metadata.name ?? ''
  const progress = new Map([[name, { attempt: 1, bytes: 5, files: 1 }]])
  const refusals = new Map([[name, 'quota exceeded']])
  const observe = (parts: Parameters<typeof makeVolumeInput>[0], since?: string) => {
    const input = makeVolumeInput(parts)
    return observeMover(input, name, input.movers.get(name), since)
  }

  test('is observed with its progress and its retry triggers', () => {
    const retryTriggers = new Map([[name, new Set(['node' as const])]])

    expect(observe({ movers: [pending], progress, retryTriggers })).toEqual({
      mover: { kind: 'waiting', node: 'n1', reason: 'ErrImagePull', message: 'why' },
      progress: { attempt: 1, bytes: 5, files: 1 },
      retryTriggers: new Set(['node']),
    })
  })

  test('that gives its slot to another namespace before its start fails with the reason', () => {
    expect(observe({ movers: [pending], preempted: name }).mover).toEqual({
      kind: 'failed',
      node: 'n1',
      code: 'PrepareTimeout',
      message: 'did not start in time: why',
      retry: true,
      nodeFault: 'maybe',
    })
  })

  test.each([
    { since: at(-60), want: 'waiting' },
    { since: at(-61), want: 'failed' },
    { since: undefined, want: 'waiting' },
  ])('that waits since $since is $want', ({ since, want }) => {
    expect(observe({ movers: [pending] }, since).mover?.kind).toBe(want)
  })

  test('is not observed without a Pod, even with an old progress', () => {
    expect(observe({ progress })).toEqual({ mover: undefined, progress: undefined, retryTriggers: new Set() })
  })

  test('failed when the API server rejected it', () => {
    expect(observe({ refusals }).mover).toEqual({
      kind: 'failed',
      code: 'CreateRefused',
      message: 'quota exceeded',
      retry: false,
      nodeFault: 'no',
    })
    expect(observe({ movers: [pending], refusals }).mover?.kind).toBe('waiting')
  })
})

test.each<{ code: string | undefined; want: boolean }>([
  { code: 'NoSpace', want: true },
  { code: 'PrepareTimeout', want: true },
  { code: 'Evicted', want: true },
  { code: 'OutOfcpu', want: true },
  { code: 'DeadlineExceeded', want: false },
  { code: 'AccessDenied', want: false },
  { code: undefined, want: false },
])('a change of a node may repair $code: $want', ({ code, want }) => {
  expect(isForNode(code)).toBe(want)
})

test.each([
  { code: 'PrepareTimeout', node: 'n1', nodeFault: 'yes' },
  { code: 'Stalled', node: undefined, nodeFault: 'maybe' },
] as const)('a mover that takes too long fails with $code', ({ code, node, nodeFault }) => {
  expect(overdue(code, 'late', node)).toStrictEqual({
    kind: 'failed',
    ...(node && { node }),
    code,
    message: 'late',
    retry: true,
    nodeFault,
  })
})
