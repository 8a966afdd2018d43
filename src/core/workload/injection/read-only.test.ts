import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ANY_NODE, makePod, makeUsable, managers } from '../../../../test/builders.ts'
import type { PodSpec, VolumeMount, VolumeSource } from '../../../api/pod.ts'
import { decidePod } from '../decide-pod.ts'

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
