import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { ResourceBinding } from '../../api/karmada.ts'
import { buildBinding, buildCluster } from '../objects.fake.ts'
import { names, openFolder, replicas } from './folder.fake.ts'
import type { FolderStoreInput } from './folder.ts'

describe('an error in a file', () => {
  test('is reported once with its line, and affects only this file', async () => {
    const { complaints, write, start } = await openFolder()
    await write('good.yaml', buildBinding('good'))
    await write('bad.yaml', buildBinding('lost'), 'kind: Pod', 'metadata: {}')
    const store = await start()
    await store.rescan()
    expect(names(store)).toEqual(['good'])
    expect(complaints).toEqual([
      'bad.yaml:3 apiVersion is missing: expected for example v1 or apps/v1 (and 1 more in this file)',
    ])
  })

  test('keeps its last valid objects until the file is valid again', async () => {
    const { complaints, write, start } = await openFolder()
    await write('a.yaml', buildBinding('a'))
    const store = await start()
    await write('a.yaml', '{"apiVersion": ')
    await store.rescan()
    expect(names(store)).toEqual(['a'])
    expect(complaints).toHaveLength(1)
    await write('a.yaml', buildBinding('b'))
    await store.rescan()
    expect(names(store)).toEqual(['b'])
  })

  test('is not reported for a file that is empty while it is written', async () => {
    const { write, start } = await openFolder()
    await write('a.yaml', buildBinding('a'))
    const store = await start()
    await write('a.yaml', '')
    await store.rescan()
    expect(names(store)).toEqual(['a'])
    await write('a.yaml', '# nothing any more')
    await store.rescan()
    expect(names(store)).toEqual([])
  })

  test('in one object removes only this object, or keeps its last valid version', async () => {
    const { complaints, write, start } = await openFolder()
    const validate: FolderStoreInput['validate'] = (object) =>
      (object as ResourceBinding).spec.replicas === -1
        ? [{ path: 'spec.replicas', message: 'must not be negative' }]
        : []
    await write('a.yaml', buildBinding('a', { replicas: 3 }), buildBinding('b', { replicas: -1 }))
    const store = await start({ validate })
    expect(names(store)).toEqual(['a'])
    expect(complaints).toEqual(['a.yaml:3 ResourceBinding b: spec.replicas: must not be negative'])
    await write('a.yaml', buildBinding('a', { replicas: -1 }), buildBinding('b', { replicas: 4 }))
    await store.rescan()
    expect([replicas(store, 'a'), replicas(store, 'b')]).toEqual([3, 4])
  })

  test('because of a duplicate object names both files, and the first one by path counts', async () => {
    const { directory, complaints, write, start } = await openFolder()
    await write('a.yaml', buildBinding('web', { replicas: 1 }))
    await write('b.yaml', buildCluster('north-1'), buildBinding('web', { replicas: 2 }))
    const store = await start()
    await store.rescan()
    expect(replicas(store, 'web')).toBe(1)
    expect(complaints).toEqual([
      `b.yaml:3 ResourceBinding shop/web is already in ${join(directory, 'a.yaml')}:1, which is used`,
    ])
    await rm(join(directory, 'a.yaml'))
    await store.rescan()
    expect(replicas(store, 'web')).toBe(2)
  })

  test('in an API version names the version that is served', async () => {
    const { complaints, write, start } = await openFolder()
    await write('a.yaml', { ...buildBinding('a'), apiVersion: 'work.karmada.io/v1alpha1' })
    const store = await start()
    expect(names(store)).toEqual([])
    expect(complaints).toEqual([
      'a.yaml:1 ResourceBinding shop/a: apiVersion work.karmada.io/v1alpha1: expected work.karmada.io/v1alpha2',
    ])
  })

  test('is reported for a file above 8 MiB, or one that is not text, which is not read', async () => {
    const { directory, complaints, write, start } = await openFolder()
    await write('big.yaml', `# ${'x'.repeat(8 * 1024 * 1024)}`)
    await writeFile(join(directory, 'binary.yaml'), Uint8Array.of(0xff, 0xfe, 0x00))
    await write('good.yaml', buildBinding('good'))
    const store = await start()
    expect(names(store)).toEqual(['good'])
    expect(complaints).toEqual(['big.yaml: is larger than 8 MiB, and was not read', 'binary.yaml: is not UTF-8 text'])
  })
  test('is reported for a file or a folder whose name is not UTF-8', async () => {
    const { directory, complaints, write, start } = await openFolder()
    const named = (name: string) => Buffer.concat([Buffer.from(`${directory}/`), Buffer.from(name, 'latin1')])
    await mkdir(named('l\u00e4nder'))
    await writeFile(named('b\u00fccher.yaml'), JSON.stringify(buildBinding('lost')))
    await write('g\u00fct.yaml', buildBinding('good'))
    const store = await start()
    await store.rescan()
    expect(names(store)).toEqual(['good'])
    expect(complaints.sort()).toEqual([
      'b\ufffdcher.yaml: has a name that is not UTF-8, and was not read; rename it',
      'l\ufffdnder: has a name that is not UTF-8, and was not read; rename it',
    ])
  })
})
