import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { makeVolume, makeVolumeManager } from '../../../../test/builders.ts'
import type { VolumeManager } from '../../../api/volume-manager.ts'
import {
  claimNameOf,
  directoryAround,
  directoryOf,
  isOfVolume,
  moverName,
  nodeLabelOf,
  ownerKey,
  ownerOfNodeLabel,
  ownerOfPlace,
  ownerOfVolumeKey,
  placeKey,
  volumeKey,
} from './names.ts'

const managerOf = (namespace: string, name: string, uid: string) => makeVolumeManager([], { namespace, name, uid })
const ANY_MANAGER = fc
  .tuple(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), fc.uuid())
  .map(([namespace, name, uid]) => managerOf(namespace, name, uid))
const LABEL_NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/

test('every name is valid in Kubernetes, for any names of the manager and its volumes', () => {
  fc.assert(
    fc.property(ANY_MANAGER, fc.string(), fc.option(fc.string(), { nil: undefined }), (manager, id, shard) => {
      const label = nodeLabelOf(manager, id, 'revision', shard).split('/')[1] ?? ''
      for (const name of [
        label,
        volumeKey(manager, id),
        moverName(manager, { id, role: 'replica', index: 4999, attempt: 2 ** 31 }),
      ]) {
        expect(name.length).toBeLessThanOrEqual(63)
        expect(name).toMatch(LABEL_NAME)
      }
      expect(claimNameOf(manager, makeVolume({ id }))).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/)
    }),
  )
})

test('two volumes never have the same node label, even with one name in VCK', () => {
  const one = managerOf('a-b', 'c', '00000000-0000-4000-8000-000000000001')
  const other = managerOf('a', 'b-c', '00000000-0000-4000-8000-000000000002')
  const labels = [one, other].flatMap((manager) => [
    nodeLabelOf(manager, 'vol1', 'r'),
    nodeLabelOf(manager, 'vol1', 's'),
    nodeLabelOf(manager, 'vol2', 'r'),
    nodeLabelOf(manager, 'vol1', 'r', '*a*'),
    nodeLabelOf(manager, 'vol1', 'r', '*b*'),
  ])
  expect(new Set(labels).size).toBe(labels.length)
})

describe('the owner is derived from the name of', () => {
  const manager = managerOf('default', 'sales', '6fa459ea-ee8a-4ca4-894e-db77e160355e')
  test.each<[what: string, owner: string | undefined]>([
    ['a label of nodes', ownerOfNodeLabel(nodeLabelOf(manager, 'vol1', 'r'))],
    ['the label of an object', ownerOfVolumeKey(volumeKey(manager, 'vol1'))],
    ['a directory', ownerOfPlace(directoryOf(manager, makeVolume()))],
    [
      'a directory that a pod mounts',
      ownerOfPlace(directoryAround(`${directoryOf(manager, makeVolume())}/data/a`) ?? ''),
    ],
    ['a claim', ownerOfPlace(claimNameOf(manager, makeVolume()))],
  ])('%s', (_what, owner) => {
    expect(owner).toBe(ownerKey(manager))
  })

  test.each(['kubernetes.io/hostname', 'vck.intelai.org/default-sales-vol1'])(
    '%s belongs to no VolumeManager',
    (label) => {
      expect(ownerOfNodeLabel(label)).toBeUndefined()
    },
  )
  test.each(['/var/datasets/other', 'my-claim', ''])('"%s" belongs to no VolumeManager', (place) => {
    expect(ownerOfPlace(place)).toBeUndefined()
    expect(directoryAround(place)).toBeUndefined()
  })
})

describe('the directory of a volume', () => {
  test.each([
    { path: '/var/datasets/vck-resource-4b1d-0123456789abc', want: true },
    { path: '/mnt/local/sales', want: false },
    { path: '', want: false },
  ])('$path is one that Lodestone created: $want', ({ path, want }) => {
    expect(isOfVolume(path)).toBe(want)
  })

  const manager: VolumeManager = makeVolumeManager([], { uid: '6fa459ea-ee8a-4ca4-894e-db77e160355e' })
  const of = (overrides = {}) => directoryOf(manager, makeVolume(overrides))
  const options = makeVolume().options ?? {}

  test('begins as in VCK', () => {
    expect(of()).toMatch(/^\/var\/datasets\/vck-resource-6fa459ea-ee8a-4ca4-894e-db77e160355e-[0-9a-z]{13}$/)
    expect(of({ options: { ...options, dataPath: '/mnt/fast/' } })).toMatch(/^\/mnt\/fast\/vck-resource-/)
  })

  test.each([
    { what: 'the number of replicas', overrides: { replicas: 7 } },
    { what: 'the credentials', overrides: { options: { ...options, awsCredentialsSecretName: 'others' } } },
    { what: 'the time limit', overrides: { options: { ...options, timeoutForDataDownload: '1h' } } },
    { what: 'the name of the source type', overrides: { sourceType: 'S3-Dev' } },
  ])('stays when $what changes', ({ overrides }) => {
    expect(of(overrides)).toBe(of())
  })

  test.each([
    { what: 'the source', overrides: { options: { ...options, sourceURL: 's3://lake/other/' } } },
    { what: 'the server', overrides: { options: { ...options, endpointURL: 'http://minio:9000' } } },
    { what: 'how the data is divided', overrides: { options: { ...options, distributionStrategy: '{"*a*": 1}' } } },
    { what: 'the source type', overrides: { sourceType: 'Stream' } },
    { what: 'the id', overrides: { id: 'vol2' } },
  ])('changes when $what changes', ({ overrides }) => {
    expect(of(overrides)).not.toBe(of())
  })
})

test('the place of data is its directory on a node', () => {
  expect(placeKey({ node: 'n1', path: '/var/datasets/a' })).toBe('n1:/var/datasets/a')
})
