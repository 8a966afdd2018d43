/** Movers beside the containers of an admission webhook, such as the proxy of a service mesh. The kubelet sorts the containers by name. */
import { describe, expect, test } from 'vitest'
import { makeMover } from '../../../../test/volume-builders.ts'
import { moverSays } from '../../../../test/volume-world.ts'
import type { PodStatus } from '../../../api/pod.ts'
import { directoryOfMover } from './affinity.ts'
import { moverLogHead } from './log.ts'
import { endedMover } from './measured-mover.ts'
import { hasMoverEnded, moverState, unmountedDirectory } from './observed-state.ts'

type ContainerState = NonNullable<NonNullable<PodStatus['containerStatuses']>[number]['state']>

const completed = { terminated: { exitCode: 0, message: moverSays({ outcome: 'completed', bytes: 7, movedBytes: 7 }) } }
const failed = { terminated: { exitCode: 1, message: moverSays({ code: 'NoSpace', retry: false }) } }
const stopped = { terminated: { exitCode: 137, reason: 'Error', message: 'killed' } }
const pulling = { waiting: { reason: 'InvalidImageName', message: 'why' } }
const running = {}

function moverWith(phase: string, mover: ContainerState, proxy: ContainerState, reason?: string) {
  const containerStatuses = [
    { name: 'istio-proxy', state: proxy },
    { name: 'mover', state: mover },
  ]
  return makeMover({}, { phase, ...(reason && { reason }), containerStatuses }, 'n1')
}

describe('the state of a mover is that of its own container', () => {
  test.each<{ name: string; pod: ReturnType<typeof moverWith>; want: object }>([
    {
      name: 'both containers ended',
      pod: moverWith('Succeeded', completed, { terminated: { exitCode: 0 } }),
      want: { kind: 'succeeded', bytes: 7 },
    },
    {
      name: 'the mover completed, and the proxy runs on',
      pod: moverWith('Running', completed, running),
      want: { kind: 'succeeded', bytes: 7 },
    },
    {
      name: 'the mover failed, and the proxy runs on',
      pod: moverWith('Running', failed, running),
      want: { kind: 'failed', code: 'NoSpace', retry: false },
    },
    {
      name: 'the mover completed, and the proxy was killed',
      pod: moverWith('Failed', completed, stopped),
      want: { kind: 'succeeded', bytes: 7 },
    },
    {
      name: 'the mover failed, and the proxy was killed',
      pod: moverWith('Failed', failed, stopped),
      want: { kind: 'failed', code: 'NoSpace' },
    },
    {
      name: 'the kubelet evicted the Pod',
      pod: moverWith('Failed', completed, stopped, 'Evicted'),
      want: { kind: 'failed', code: 'Evicted' },
    },
    {
      name: 'the mover runs, and the proxy ended',
      pod: moverWith('Running', running, stopped),
      want: { kind: 'running' },
    },
    {
      name: 'the image of the mover is invalid',
      pod: moverWith('Pending', pulling, running),
      want: { kind: 'failed', code: 'InvalidImageName' },
    },
  ])('$name', ({ pod, want }) => {
    expect(moverState(pod, 0)).toMatchObject(want)
  })
})

describe('an init container of an admission webhook', () => {
  const initializing = { waiting: { reason: 'PodInitializing' } }
  const withInit = (phase: string, state: ContainerState) => {
    const statuses = [{ name: 'istio-init', state }]
    const containerStatuses = [{ name: 'mover', state: initializing }]
    return makeMover({}, { phase, initContainerStatuses: statuses, containerStatuses }, 'n1')
  }
  const pull = { waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image "proxy:1"' } }
  const pullMessage = 'init container istio-init: Back-off pulling image "proxy:1"'

  test.each<{ name: string; phase: string; state: ContainerState; waitedMs?: number; want: object }>([
    {
      name: 'that failed is named',
      phase: 'Failed',
      state: { terminated: { exitCode: 1, reason: 'Error' } },
      want: {
        code: 'Unexpected',
        message: expect.stringMatching(
          /^init container istio-init failed with exit status 1; see kubectl logs \S+ -c istio-init$/,
        ),
        retry: true,
      },
    },
    {
      name: 'that failed is named with its message',
      phase: 'Failed',
      state: { terminated: { exitCode: 255, message: 'iptables: Permission denied' } },
      want: { message: 'init container istio-init failed with exit status 255: iptables: Permission denied' },
    },
    {
      name: 'whose image cannot be pulled is named',
      phase: 'Pending',
      state: pull,
      want: { kind: 'waiting', reason: 'ImagePullBackOff', message: pullMessage },
    },
    {
      name: 'whose image cannot be pulled for a minute fails the mover',
      phase: 'Pending',
      state: pull,
      waitedMs: 61_000,
      want: { kind: 'failed', code: 'ImagePullBackOff', message: pullMessage },
    },
    { name: 'that starts is no problem', phase: 'Pending', state: initializing, want: { reason: 'Starting' } },
    { name: 'that runs is no problem', phase: 'Pending', state: {}, want: { reason: 'Starting' } },
  ])('$name', ({ phase, state, waitedMs = 0, want }) => {
    expect(moverState(withInit(phase, state), waitedMs)).toMatchObject(want)
  })
})

test('a mover has ended when its own container has', () => {
  const all = [moverWith('Running', completed, running), moverWith('Running', running, stopped)]
  expect(all.map(hasMoverEnded)).toEqual([true, false])
})

test('the log and the metrics of a mover have the end of its own container', () => {
  const pod = moverWith('Failed', completed, stopped)
  expect(moverLogHead(pod).exitCode).toBe(0)
  expect(endedMover(pod)).toMatchObject({ result: 'succeeded', movedBytes: 7 })
})

test('the directory of a mover is that of its own volume', () => {
  const pod = makeMover({}, { conditions: [{ type: 'PodReadyToStartContainers', status: 'False' }] }, 'n1')
  const { volumes = [] } = pod.spec
  const added = { name: 'agent', hostPath: { path: '/var/run/agent', type: 'Directory' } }
  const withAdded = { ...pod, spec: { ...pod.spec, volumes: [added, ...volumes] } }
  expect(directoryOfMover(withAdded)).toBe(directoryOfMover(pod))
  expect(unmountedDirectory(withAdded)).toBeUndefined()
})
