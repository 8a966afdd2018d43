import { expect, test } from 'vitest'
import { ended, moverSays } from '../../../../test/volume-world.ts'
import type { Pod, PodStatus } from '../../../api/pod.ts'
import { moverResult, scheduledAt, terminatedState, unmountedDirectory } from './observed-state.ts'

const podWith = (conditions: PodStatus['conditions'], type?: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'mover' },
  spec: { containers: [], volumes: [{ name: 'volume', hostPath: { path: '/mnt/x', ...(type && { type }) } }] },
  ...(conditions && { status: { conditions } }),
})

test.each([
  { placed: { type: 'PodScheduled', status: 'True', lastTransitionTime: '1970-01-01T00:00:07Z' }, want: 7000 },
  { placed: { type: 'PodScheduled', status: 'False', lastTransitionTime: '1970-01-01T00:00:07Z' }, want: 0 },
  { placed: { type: 'PodScheduled', status: 'True', lastTransitionTime: null }, want: 0 },
])('a Pod with $placed was scheduled at $want', ({ placed, want }) => {
  expect(scheduledAt(podWith([placed]))).toBe(want)
  expect(scheduledAt(podWith(undefined))).toBe(0)
})

test('an ended Pod has its result, and a running one has none', () => {
  const terminated = { exitCode: 1, message: moverSays({ code: 'NotFound' }) }
  const pod = { ...podWith(undefined), status: ended('Failed', terminated) }

  expect(terminatedState(pod)).toEqual(terminated)
  expect(moverResult(pod)).toMatchObject({ code: 'NotFound' })
  expect([terminatedState(podWith([])), moverResult(podWith([]))]).toEqual([undefined, undefined])
})

test.each([
  { status: 'False', type: 'Directory', want: '/mnt/x' },
  { status: 'True', type: 'Directory', want: undefined },
  { status: 'False', type: undefined, want: undefined },
])('a Pod that is $status to start with a mount of type $type waits for $want', ({ status, type, want }) => {
  expect(unmountedDirectory(podWith([{ type: 'PodReadyToStartContainers', status }], type))).toBe(want)
  expect(unmountedDirectory(podWith(undefined, type))).toBeUndefined()
})
