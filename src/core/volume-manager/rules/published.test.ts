import { describe, expect, test } from 'vitest'
import { makeVolume, makeVolumeManager, nodesWith } from '../../../../test/builders.ts'
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import { claimNameOf, dataPathOf, nodeLabelOf } from './names.ts'
import { isReadOnly, isRefreshable, publishShards, publishVolume } from './published.ts'
import { revisionOf } from './source-types.ts'

const manager = makeVolumeManager()
const LOCAL = makeVolume({ sourceType: 'Local', options: { path: '/mnt/a' }, nodeAffinity: nodesWith('disk') })
const S3 = makeVolume()
const NFS = makeVolume({ sourceType: 'NFS', accessMode: 'ReadWriteMany', options: { server: 's', path: '/' } })

describe('the published part of a volume', () => {
  test.each<{ name: string; config: VolumeConfig; volumeSource: object; nodeAffinity: object }>([
    {
      name: 'S3 is a directory on labeled nodes',
      config: S3,
      volumeSource: { hostPath: { path: dataPathOf(manager, S3) } },
      nodeAffinity: nodesWith(nodeLabelOf(manager, 'vol1', revisionOf(S3))),
    },
    {
      name: 'NFS is a claim on every node',
      config: NFS,
      volumeSource: { persistentVolumeClaim: { claimName: claimNameOf(manager, NFS) } },
      nodeAffinity: {},
    },
    {
      name: 'read-only NFS is a read-only claim',
      config: { ...NFS, accessMode: 'ReadOnlyMany' },
      volumeSource: { persistentVolumeClaim: { claimName: claimNameOf(manager, NFS), readOnly: true } },
      nodeAffinity: {},
    },
    {
      name: 'Local is its path on the nodes on which a mover has checked it',
      config: LOCAL,
      volumeSource: { hostPath: { path: '/mnt/a' } },
      nodeAffinity: nodesWith(nodeLabelOf(manager, 'vol1', revisionOf(LOCAL))),
    },
  ])('$name', ({ config, volumeSource, nodeAffinity }) => {
    expect(publishVolume(manager, config)).toEqual({ id: 'vol1', volumeSource, nodeAffinity })
  })

  test('has shards with their own nodes, for data that movers download', () => {
    const options = { ...S3.options, distributionStrategy: '{"b": 1, "a": 1}' }
    const divided = makeVolume({ options })
    const affinityOf = (name: string) => nodesWith(nodeLabelOf(manager, 'vol1', revisionOf(divided), name))

    expect(publishShards(manager, divided)).toEqual(
      ['a', 'b'].map((name) => ({ name, nodeAffinity: affinityOf(name) })),
    )
    expect(publishShards(manager, S3)).toEqual([])
    expect(publishShards(manager, { ...NFS, options })).toEqual([])
  })
})

test.each<{ volume: Partial<VolumeConfig>; want: boolean }>([
  { volume: {}, want: false },
  { volume: { readOnly: true }, want: true },
  { volume: { accessMode: 'ReadOnlyMany' }, want: true },
  { volume: { accessMode: 'ReadWriteMany', readOnly: false }, want: false },
])('a volume with $volume is read-only: $want', ({ volume, want }) => {
  expect(isReadOnly(makeVolume(volume))).toBe(want)
})

test.each<{ volume: Partial<VolumeConfig>; want: boolean }>([
  { volume: { readOnly: true }, want: true },
  { volume: {}, want: false },
  { volume: { sourceType: 'Stream', readOnly: true }, want: true },
  { volume: { sourceType: 'Stream', readOnly: true, options: {} }, want: false },
  { volume: { sourceType: 'Pachyderm', readOnly: true, options: {} }, want: true },
  { volume: { sourceType: 'NFS', accessMode: 'ReadOnlyMany' }, want: false },
  { volume: { sourceType: 'Local', readOnly: true }, want: false },
])('a volume with $volume can be refreshed: $want', ({ volume, want }) => {
  expect(isRefreshable(makeVolume(volume))).toBe(want)
})
