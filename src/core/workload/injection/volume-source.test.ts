import { describe, expect, test } from 'vitest'
import type { VolumeSource } from '../../../api/pod.ts'
import { defined } from '../../../base/json.ts'
import { findVolume, mountedSource } from './volume-source.ts'

const path = (text: string, type?: string): VolumeSource => ({
  hostPath: defined({ path: text, type: type || undefined }),
})
const claim = (claimName: string, readOnly?: boolean): VolumeSource => ({
  persistentVolumeClaim: defined({ claimName, readOnly }),
})

describe('a volume of the pod is found', () => {
  test.each<{ name: string; own: VolumeSource; source: VolumeSource; want: boolean }>([
    { name: 'by its host path', own: path('/data'), source: path('/data'), want: true },
    { name: 'by its host path of another type', own: path('/data', 'Directory'), source: path('/data'), want: true },
    { name: 'by its host path with slashes at the end', own: path('/data//'), source: path('/data'), want: true },
    { name: 'not by another host path', own: path('/data'), source: path('/other'), want: false },
    { name: 'by its PersistentVolumeClaim', own: claim('a', true), source: claim('a'), want: true },
    { name: 'not by another PersistentVolumeClaim', own: claim('a'), source: claim('b'), want: false },
    {
      name: 'by another source',
      own: { emptyDir: {} } as VolumeSource,
      source: { emptyDir: {} } as VolumeSource,
      want: true,
    },
    { name: 'not by a source of another kind', own: path('a'), source: claim('a'), want: false },
  ])('$name: $want', ({ own, source, want }) => {
    expect(
      findVolume(
        [
          { name: 'other', ...path('/elsewhere') },
          { name: 'own', ...own },
        ],
        source,
      )?.name,
    ).toBe(want ? 'own' : undefined)
  })

  test('at the root of the file system', () => {
    expect(findVolume([{ name: 'root', ...path('/') }], path('/'))?.name).toBe('root')
  })
})

describe('a pod mounts', () => {
  test.each<{ name: string; source: VolumeSource; enforcement: 'Required' | 'Preferred'; want: VolumeSource }>([
    {
      name: 'required data only from an existing directory',
      source: path('/d'),
      enforcement: 'Required',
      want: path('/d', 'Directory'),
    },
    {
      name: 'preferred data from a directory that the kubelet may create',
      source: path('/d'),
      enforcement: 'Preferred',
      want: path('/d', 'DirectoryOrCreate'),
    },
    {
      name: 'a host path with its own type',
      source: path('/d', 'File'),
      enforcement: 'Required',
      want: path('/d', 'File'),
    },
    { name: 'a PersistentVolumeClaim as it is', source: claim('a'), enforcement: 'Required', want: claim('a') },
  ])('$name', ({ source, enforcement, want }) => {
    expect(mountedSource(source, enforcement)).toEqual(want)
  })
})
