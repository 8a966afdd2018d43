import { describe, expect, test } from 'vitest'
import type { Pod, PodStatus } from '../../api/pod.ts'
import { podEndTime, readPastUse, readPodUse } from './pod-use.ts'

const directory = '/var/datasets/vck-resource-00000000-0000-0000-0000-000000000001-0123456789abc'
const at = (seconds: number) => `2026-01-01T00:00:${String(seconds).padStart(2, '0')}Z`
const finished = (...times: (string | null)[]) =>
  times.map((finishedAt, i) => ({ name: `c${i}`, state: { terminated: { finishedAt } } }))

function makePod(status: PodStatus, spec: Partial<Pod['spec']> = {}): Pod {
  const volumes = [{ name: 'data', hostPath: { path: `${directory}/data` } }]
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'trainer' },
    spec: { containers: [], nodeName: 'n1', volumes, ...spec },
    status,
  }
}

describe('a pod that has data mounted', () => {
  test('uses it until it has ended, and then has a past use', () => {
    const running = makePod({ phase: 'Running' })

    expect([readPodUse(running), readPastUse(running)]).toEqual([
      { node: 'n1', directories: [directory], claims: [] },
      undefined,
    ])
    for (const phase of ['Succeeded', 'Failed'] as const) {
      const ended = makePod({ phase, containerStatuses: finished(at(5)) })

      expect([readPodUse(ended), readPastUse(ended)]).toEqual([
        undefined,
        { node: 'n1', directories: [directory], claims: [], endTime: at(5) },
      ])
    }
  })

  test.each(['//', '/./', '/.//'])('uses it by each path that a kubelet takes, such as one with %s', (slash) => {
    const path = `${directory}/data`.replaceAll('/', slash)

    expect(readPodUse(makePod({}, { volumes: [{ name: 'data', hostPath: { path } }] }))).toMatchObject({
      directories: [directory],
    })
  })

  test.each<{ list: 'containers' | 'initContainers'; mount: object }>([
    { list: 'containers', mount: { subPath: directory.slice('/var/datasets/'.length) } },
    { list: 'containers', mount: { subPath: `${directory.slice('/var/datasets/'.length)}//data/` } },
    { list: 'initContainers', mount: { subPathExpr: `${directory.slice('/var/datasets/'.length)}/data/$(POD_NAME)` } },
  ])('uses it if $list mount it as a part of the directory around it', ({ list, mount }) => {
    const volumes = [{ name: 'all', hostPath: { path: '/var/datasets/' } }]
    const volumeMounts = [
      { name: 'all', mountPath: '/logs', subPath: 'logs' },
      { name: 'all', mountPath: '/data', ...mount },
      { name: 'all', mountPath: '/again', ...mount },
      { name: 'other', mountPath: '/other', subPath: 'vck-resource-x' },
    ]
    const spec = { volumes, [list]: [{ name: 'main', volumeMounts }, { name: 'side' }] }

    expect(readPodUse(makePod({}, spec))).toEqual({ node: 'n1', directories: [directory], claims: [] })
    expect(readPodUse(makePod({}, { volumes }))).toBeUndefined()
  })

  test('uses it if it mounts it as a part of the root of the node', () => {
    const volumes = [{ name: 'all', hostPath: { path: '/' } }]
    const volumeMounts = [{ name: 'all', mountPath: '/data', subPath: `${directory.slice(1)}/data` }]

    expect(readPodUse(makePod({}, { volumes, containers: [{ name: 'main', volumeMounts }] }))).toMatchObject({
      directories: [directory],
    })
  })

  describe('that mounts parts of other directories costs no more than its size:', () => {
    const part = (i: number) => ({ name: 'all', mountPath: `/${i}`, subPath: `vck-resource-${i}` })
    const mounting = (path: string, count: number) => ({
      volumes: [{ name: 'all', hostPath: { path } }],
      containers: [{ name: 'main', volumeMounts: Array.from({ length: count }, (_, i) => part(i)) }],
    })

    test('1,000 parts count', () => {
      const { directories = [] } = readPodUse(makePod({}, mounting('/var/datasets', 1100))) ?? {}
      expect([directories.length, directories.at(-1)]).toEqual([1000, '/var/datasets/vck-resource-999'])
    })

    test('a path that no node can mount does not count', () => {
      expect(readPodUse(makePod({}, mounting(`/${'a/'.repeat(2100)}`, 1)))).toBeUndefined()
    })

    test('its mounts are read once, and not for each volume', () => {
      let reads = 0
      const container = {
        name: 'main',
        get volumeMounts() {
          reads++
          return []
        },
      }
      const volumes = Array.from({ length: 100 }, (_, i) => ({ name: `${i}`, hostPath: { path: `/logs/${i}` } }))
      readPodUse(makePod({}, { volumes, containers: [container] }))
      expect(reads).toBe(1)
    })
  })

  test('uses a claim beside a directory', () => {
    const volumes = [
      { name: 'data', hostPath: { path: `${directory}/data` } },
      { name: 'nfs', persistentVolumeClaim: { claimName: 'sales' } },
    ]

    expect(readPodUse(makePod({}, { volumes }))).toEqual({ node: 'n1', directories: [directory], claims: ['sales'] })
  })

  test('uses it before a kubelet reports a status', () => {
    const { status: _, ...pod } = makePod({})

    expect([readPodUse(pod), readPastUse(pod)]).toEqual([
      { node: 'n1', directories: [directory], claims: [] },
      undefined,
    ])
  })

  test.each<{ name: string; spec: Partial<Pod['spec']> }>([
    { name: 'other volumes', spec: { volumes: [{ name: 'tmp' }, { name: 'logs', hostPath: { path: '/var/log' } }] } },
    { name: 'no volumes', spec: { volumes: [] } },
  ])('uses no data with $name', ({ spec }) => {
    expect(readPodUse(makePod({ phase: 'Running' }, spec))).toBeUndefined()
  })

  test('has no past use without an end time', () => {
    expect(readPastUse(makePod({ phase: 'Failed' }))).toBeUndefined()
  })

  test.each([
    { name: 'had no node', spec: { nodeName: '' } },
    { name: 'had other directories', spec: { volumes: [{ name: 'logs', hostPath: { path: '/var/log' } }] } },
  ])('has no past use if it $name', ({ spec }) => {
    expect(readPastUse(makePod({ phase: 'Succeeded', containerStatuses: finished(at(5)) }, spec))).toBeUndefined()
  })
})

describe('the end of a pod', () => {
  const ready = [
    { type: 'Initialized', status: 'True', lastTransitionTime: at(2) },
    { type: 'Ready', status: 'False', lastTransitionTime: at(7) },
  ]

  test.each<{ name: string; status: PodStatus; want: string | undefined }>([
    {
      name: 'is that of its last container, even if its sandbox changed later',
      status: { startTime: at(1), conditions: ready, containerStatuses: finished(at(3), at(5), at(4)) },
      want: at(5),
    },
    {
      name: 'is that of its init container when no other container started',
      status: { initContainerStatuses: finished(at(2)), containerStatuses: [{ name: 'c', state: {} }, { name: 'd' }] },
      want: at(2),
    },
    {
      name: 'is the time at which it ceased to be ready when its containers are lost',
      status: { startTime: at(1), conditions: ready, containerStatuses: finished(null) },
      want: at(7),
    },
    {
      name: 'is its start time when it has no other time',
      status: { startTime: at(1), reason: 'Evicted' },
      want: at(1),
    },
    { name: 'is unknown without times', status: {}, want: undefined },
  ])('$name', ({ status, want }) => {
    expect(podEndTime(status)).toBe(want)
  })
})
