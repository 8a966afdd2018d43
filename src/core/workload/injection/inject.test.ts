import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ANY_NODE, makePod, makeUsable, managers, nodesWith } from '../../../../test/builders.ts'
import type { NodeSelectorTerm } from '../../../api/node.ts'
import type { PodSpec, VolumeMount, VolumeSource } from '../../../api/pod.ts'
import { defined } from '../../../base/json.ts'
import { decidePod } from '../decide-pod.ts'
import { MAX_REQUIREMENTS, MAX_TERMS } from '../requests/limits.ts'
import { resolveRequests, type WantedVolume } from '../requests/resolve.ts'
import { parseVolumeRequests } from '../requests/volume-requests.ts'
import { injectorOf, injectVolumes, volumeName } from './inject.ts'
import type { UsableVolume } from './mountable-volumes.ts'

const main: PodSpec = { containers: [{ name: 'main' }] }
const NAME = volumeName('mnist', 'vol1', undefined)

/** The wanted volumes for requests of volumes of the VolumeManager mnist. */
function wanted(asks: object[], volumes: UsableVolume[] = [makeUsable('vol1')]): WantedVolume[] {
  const parsed = parseVolumeRequests(JSON.stringify(asks.map((ask) => ({ name: 'mnist', ...ask }))))
  if ('errors' in parsed) throw new Error(JSON.stringify(parsed.errors))
  return resolveRequests(parsed.requests, managers({ name: 'mnist', volumes })).wanted
}

function injected(spec: PodSpec, ...rest: Parameters<typeof wanted>): PodSpec {
  const result = injectVolumes(spec, wanted(...rest))
  if ('errors' in result) throw new Error(JSON.stringify(result.errors))
  return result.spec
}

const withTerms = (nodeSelectorTerms: NodeSelectorTerm[]): PodSpec => ({
  ...main,
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
})

describe('a pod spec', () => {
  test('without volumes gets the volume, its mount, and the nodes that have the data', () => {
    expect(injected(main, [{ 'mount-path': '/data' }])).toEqual({
      containers: [{ name: 'main', volumeMounts: [{ name: NAME, mountPath: '/data' }] }],
      volumes: [{ name: NAME, hostPath: { path: '/var/datasets/vol1', type: 'Directory' } }],
      affinity: { nodeAffinity: nodesWith('data/vol1') },
    })
  })

  test('without requests stays as it is, without an empty list of volumes', () => {
    expect(injectVolumes(main, [])).toStrictEqual({ spec: main })
  })

  test('keeps the affinity object if nothing is added', () => {
    const once = injected(withTerms([{ matchExpressions: [{ key: 'gpu', operator: 'Exists' }] }]), [{}])
    expect(injected(once, [{}]).affinity).toBe(once.affinity)
  })
})

test('a volume of the pod with our name and other data is an error with its path', () => {
  const volumes = [{ name: NAME, emptyDir: {} }]
  expect(injectorOf(wanted([{}]))({ ...main, volumes }, 'spec.template.spec')).toEqual({
    errors: [
      {
        path: 'spec.template.spec.volumes[0].name',
        code: 'Duplicate',
        message: `${NAME} duplicates the name of volume vol1 of VolumeManager mnist; rename the volume of the pod`,
      },
    ],
  })
})

describe('the terms of node affinity have a limit:', () => {
  const expressions = (count: number, prefix: string) =>
    Array.from({ length: count }, (_, i) => ({ key: `${prefix}${i}`, operator: 'Exists' }))
  const terms = (count: number, each: number, fields = 0): NodeSelectorTerm[] =>
    Array.from({ length: count }, (_, i) =>
      defined({
        matchExpressions: expressions(each, `t${i}-`),
        matchFields: fields > 0 ? expressions(fields, 'f') : undefined,
      }),
    )
  const tooLong = {
    errors: [
      {
        path: 'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms',
        code: 'TooLong',
        message: expect.stringContaining('must have at most 100 terms and 10000 requirements'),
      },
    ],
  }

  // The volume adds one requirement to each term.
  test.each([
    { name: 'the maximum number of terms', own: terms(MAX_TERMS, 1), isTooLong: false },
    { name: 'one more term', own: terms(MAX_TERMS + 1, 1), isTooLong: true },
    { name: 'the maximum number of requirements', own: terms(10, MAX_REQUIREMENTS / 10 - 1), isTooLong: false },
    { name: 'more requirements', own: terms(10, MAX_REQUIREMENTS / 10), isTooLong: true },
    { name: 'more field requirements', own: terms(10, 1, MAX_REQUIREMENTS / 10), isTooLong: true },
  ])('$name', ({ own, isTooLong }) => {
    const result = injectVolumes(withTerms(own), wanted([{}]))
    expect(result).toEqual(isTooLong ? tooLong : { spec: expect.anything() })
  })
})

describe('preferred volumes', () => {
  test.each<{ name: string; bytes: [number | undefined, number | undefined]; want: [number, number] }>([
    { name: 'get a weight by their share of the bytes', bytes: [30, 70], want: [30, 70] },
    { name: 'get a weight of at least 1', bytes: [1, 1000], want: [1, 100] },
    { name: 'get equal weights if one size is unknown', bytes: [30, undefined], want: [50, 50] },
    { name: 'get equal weights if no size is known', bytes: [undefined, undefined], want: [50, 50] },
    { name: 'get equal weights if they are empty', bytes: [0, 0], want: [50, 50] },
  ])('$name', ({ bytes, want }) => {
    const volumes = bytes.map((size, i) => makeUsable(`vol${i}`, size === undefined ? {} : { bytes: size }))
    const asks = volumes.map(({ id }) => ({ id, 'mount-path': `/${id}`, enforcement: 'Preferred' }))
    const preferences = injected(main, asks, volumes).affinity?.nodeAffinity
      ?.preferredDuringSchedulingIgnoredDuringExecution
    expect(preferences?.map(({ weight, preference }) => [weight, preference.matchExpressions?.[0]?.key])).toEqual([
      [want[0], 'data/vol0'],
      [want[1], 'data/vol1'],
    ])
  })
})

const CLAIM = { persistentVolumeClaim: { claimName: 'vck-resource-1', readOnly: true } }
const DATA = '/var/datasets/vck-resource-1-2/data'

function admitted(request: object, spec: Partial<PodSpec> = {}, source: VolumeSource = { hostPath: { path: DATA } }) {
  const volume = makeUsable('vol1', { readOnly: true, source })
  const outcome = decidePod({
    pod: makePod({ name: 'sales', ...request }, spec),
    managers: managers({ name: 'sales', volumes: [volume] }),
    ...ANY_NODE,
    whenNotReady: 'gate',
    isHub: false,
  })
  return outcome as typeof outcome & { object?: { spec: PodSpec } }
}

const mountsOf = ({ object }: ReturnType<typeof admitted>) =>
  [...(object?.spec.containers ?? []), ...(object?.spec.initContainers ?? [])].flatMap(
    ({ volumeMounts = [] }) => volumeMounts,
  )
const openOf = (mounts: VolumeMount[], ...volumes: string[]) =>
  mounts.filter(({ name, readOnly }) => volumes.includes(name) && readOnly !== true)

describe('a volume that is read-only', () => {
  test.each([
    { what: 'without readOnly', request: {} },
    { what: 'that requests a writable volume', request: { readOnly: false } },
    { what: 'that requests a read-only volume', request: { readOnly: true } },
  ])('is mounted read-only in every container of a pod $what', ({ request }) => {
    const spec = { containers: [{ name: 'main' }, { name: 'side' }], initContainers: [{ name: 'setup' }] }

    const mounts = mountsOf(admitted(request, spec))

    expect(mounts).toEqual(Array(3).fill({ name: 'sales--vol1', mountPath: '/var/datasets', readOnly: true }))
  })

  test('causes a warning for a pod that requests a writable volume', () => {
    const [warning] = admitted({ readOnly: false }).warnings ?? []
    expect(warning).toContain('sales/vol1 is read-only')
    expect(admitted({}).warnings).toBeUndefined()
  })

  test.each([
    { what: 'the directory', source: { hostPath: { path: DATA } } },
    {
      what: 'the directory, in another notation',
      source: { hostPath: { path: `/var//datasets/./vck-resource-1-2/data/` } },
    },
    { what: 'a part of it', source: { hostPath: { path: `${DATA}/models` } } },
    {
      what: 'the PersistentVolumeClaim',
      source: { persistentVolumeClaim: { claimName: 'vck-resource-1' } },
      of: CLAIM,
    },
  ])('is read-only as well if the pod has $what in its own volume', ({ source, of }) => {
    const mine = { name: 'mine', ...source }
    const mount = { name: 'mine', mountPath: '/mine', readOnly: false }
    const spec = { volumes: [mine], containers: [{ name: 'main', volumeMounts: [mount] }] }

    const mounts = mountsOf(admitted({ 'mount-path': '/data' }, spec, of))

    expect(openOf(mounts, 'mine', 'sales--vol1')).toEqual([])
    expect(mounts.find(({ name }) => name === 'mine')).toEqual({ ...mount, readOnly: true })
  })

  test('is read-only as well if the pod mounts it by a subPath', () => {
    const volumes = [{ name: 'all', hostPath: { path: '/var/datasets' } }]
    const volumeMounts = [
      { name: 'all', mountPath: '/mine', subPath: 'vck-resource-1-2/data/' },
      { name: 'all', mountPath: '/models', subPathExpr: 'vck-resource-1-2/data/$(MODEL)' },
      { name: 'all', mountPath: '/logs', subPath: 'logs' },
    ]

    const mounts = mountsOf(admitted({}, { volumes, containers: [{ name: 'main', volumeMounts }] }))

    expect(openOf(mounts, 'all')).toEqual(volumeMounts.slice(2))
  })

  test('does not affect the other volumes of the pod', () => {
    const volumes = [
      { name: 'tmp', hostPath: { path: `${DATA}-2` } },
      { name: 'claim', persistentVolumeClaim: { claimName: 'other' } },
      { name: 'empty', emptyDir: {} },
    ]
    const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }))

    const mounts = mountsOf(admitted({}, { volumes, containers: [{ name: 'main', volumeMounts }] }))

    expect(mounts.slice(0, 3)).toEqual(volumeMounts)
  })

  test('stays read-only at a second decision, for any mounts of the pod', () => {
    const mount = fc.record(
      {
        name: fc.constantFrom('mine', 'sales--vol1', 'tmp'),
        mountPath: fc.constantFrom('/a', '/b', '/var/datasets'),
        readOnly: fc.boolean(),
      },
      { requiredKeys: ['name', 'mountPath'] },
    )
    const mounts = fc.uniqueArray(mount, { maxLength: 3, selector: ({ mountPath }) => mountPath })
    fc.assert(
      fc.property(mounts, mounts, fc.boolean(), (main, setup, readOnly) => {
        const volumes = [
          { name: 'sales--vol1', hostPath: { path: DATA, type: 'Directory' } },
          { name: 'mine', hostPath: { path: `${DATA}/sub` } },
          { name: 'tmp', hostPath: { path: '/tmp' } },
        ]
        const once = admitted(
          { readOnly, 'mount-path': '/c' },
          {
            volumes,
            containers: [{ name: 'main', volumeMounts: main }],
            initContainers: [{ name: 'setup', volumeMounts: setup }],
          },
        )
        expect(openOf(mountsOf(once), 'mine', 'sales--vol1')).toEqual([])
        const again = admitted({ readOnly, 'mount-path': '/c' }, once.object?.spec)
        expect(again.object?.spec).toEqual(once.object?.spec)
      }),
    )
  })
})
