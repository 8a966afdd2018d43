import { expect, test } from 'vitest'
import { makeVolume, makeVolumeManager } from '../../../../test/builders.ts'
import { makeReplica, PATH } from '../../../../test/volume-builders.ts'
import { VOLUME_SETTINGS } from '../../../../test/volume-world.ts'
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import { claimNameOf } from '../rules/names.ts'
import { directoryMount, moverMount, TARGET } from './pod.ts'

const manager = makeVolumeManager()
const NFS = makeVolume({
  sourceType: 'NFS',
  accessMode: 'ReadOnlyMany',
  options: { server: 'nfs.example.com', path: '/exports' },
})
const claimName = claimNameOf(manager, NFS)
const exported = { server: 'nfs.example.com', path: '/exports', readOnly: true }

test.each<[string, VolumeConfig, string | undefined, object]>([
  ['its directory', makeVolume(), undefined, directoryMount(PATH)],
  [
    'the root of existing data, which it only reads',
    makeVolume({ sourceType: 'Local' }),
    undefined,
    { at: '/volume', volume: { hostPath: { path: '/var/datasets', type: 'Directory' } }, readOnly: true },
  ],
  [
    'the claim of NFS beside it',
    NFS,
    undefined,
    { at: TARGET, volume: { persistentVolumeClaim: { claimName, readOnly: true } }, readOnly: true },
  ],
  ['the export of NFS in another namespace', NFS, 'movers', { at: TARGET, volume: { nfs: exported }, readOnly: true }],
])('a mover mounts %s', (_name, config, namespace, want) => {
  const settings = { ...VOLUME_SETTINGS.movers, ...(namespace !== undefined && { namespace }) }
  expect(moverMount(manager, config, makeReplica(), { settings, localRoots: ['/var/datasets'] })).toEqual(want)
})

test('a mover of a replica without a directory mounts nothing', () => {
  const { path: _, ...replica } = makeReplica()
  expect(
    moverMount(manager, makeVolume(), replica, { settings: VOLUME_SETTINGS.movers, localRoots: [] }),
  ).toBeUndefined()
})
