import { rename, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { serviceAccounts } from '../../api/dependencies.ts'
import { type ResourceBinding, resourceBindings } from '../../api/karmada.ts'
import type { K8sObject, ResourceType } from '../../api/meta.ts'
import { dependencyKinds } from '../kinds/dependencies.ts'
import { buildBinding, buildCluster } from '../objects.fake.ts'
import { describeObjectStore } from '../store.suite.ts'
import { ConflictError } from '../store.ts'
import { names, openFolder, replicas } from './folder.fake.ts'
import type { FolderStore } from './folder.ts'

const configMaps: ResourceType = { group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true }

async function writeOver(store: FolderStore, name: string, replicas: number): Promise<ResourceBinding> {
  const read = (await store.read(resourceBindings, 'shop', name)) as ResourceBinding
  return store.update(resourceBindings, { ...read, spec: { ...read.spec, replicas } })
}

describeObjectStore('the folder store', async (observer) => {
  const { open, write, directory } = await openFolder()
  const store = open({ observer })
  const rescan = async (): Promise<void> => {
    if (store.synced()) await store.rescan()
  }
  return {
    store,
    put: async (type, object) => {
      await write(`${type.kind}-${object.metadata.name}.json`, object)
      await rescan()
    },
    remove: async (type, _namespace, name) => {
      await rm(join(directory, `${type.kind}-${name}.json`))
      await rescan()
    },
    close: async () => {},
  }
})

describe('a folder', () => {
  test('is read with its subfolders: YAML, JSON and symlinks, but no hidden files', async () => {
    const { directory, complaints, write, start } = await openFolder()
    await write('a.yaml', buildBinding('a1'), buildBinding('a2'))
    await write('deep/down/b.yml', buildBinding('b'))
    await write('c.json', buildBinding('c'))
    await write('notes.txt', buildBinding('no-1'))
    await write('.hidden/d.yaml', buildBinding('no-2'))
    await write('.e.yaml', buildBinding('no-3'))
    await write('node_modules/f.yaml', buildBinding('no-4'))
    await symlink(join(directory, '.hidden/d.yaml'), join(directory, 'linked.yaml'))
    await symlink(directory, join(directory, 'deep/loop'))
    await symlink(join(directory, 'nowhere'), join(directory, 'broken.yaml'))
    await symlink(join(directory, 'nowhere'), join(directory, 'current'))
    const store = await start()
    expect(names(store)).toEqual(['a1', 'a2', 'b', 'c', 'no-2'])
    expect(complaints).toEqual([expect.stringMatching(/^broken\.yaml: cannot be read: ENOENT/)])
  })

  test('has a file once, also if symlinks lead to it', async () => {
    const { directory, complaints, write, start } = await openFolder()
    await write('base/app.yaml', buildBinding('app'))
    await symlink('base/app.yaml', join(directory, 'app.yaml'))
    await symlink('app.yaml', join(directory, 'same.yaml'))
    const store = await start()
    expect(names(store)).toEqual(['app'])
    expect(complaints).toEqual([])
  })

  test('skips an object whose fields no index can read, and reports it once', async () => {
    const reported: string[] = []
    const { write, start } = await openFolder()
    const account = (name: string, secrets: unknown): K8sObject & { secrets: unknown } => ({
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name, namespace: 'shop' },
      secrets,
    })
    await write('a.yaml', account('wrong', 5), account('right', [{ name: 'token' }]))

    const store = await start({
      kinds: dependencyKinds,
      observer: { error: ({ message }) => void reported.push(message) },
    })
    await store.rescan()
    await write('b.yaml', account('later', 5))
    await store.rescan()

    expect([...store.list(serviceAccounts)].map(({ metadata }) => metadata.name)).toEqual(['right'])
    expect(reported).toEqual([
      'ServiceAccount shop/wrong cannot be cached',
      'ServiceAccount shop/later cannot be cached',
    ])
    const { metadata } = (await store.read(serviceAccounts, 'shop', 'right')) as K8sObject
    await store.update(serviceAccounts as ResourceType, { ...account('right', 5), metadata })
    expect([...store.list(serviceAccounts)]).toEqual([])
  })

  test('that does not exist, or is a file, throws immediately', async () => {
    const { directory, write, open } = await openFolder()
    expect(() => open({ directory: join(directory, 'none') })).toThrow(`${directory}/none does not exist`)
    await write('file.yaml', '')
    expect(() => open({ directory: join(directory, 'file.yaml') })).toThrow('is not a folder')
  })

  test('that is removed later keeps its last objects', async () => {
    const { directory, complaints, write, start } = await openFolder()
    await write('a.yaml', buildBinding('a'))
    const store = await start()
    await rename(directory, `${directory}-away`)
    onTestFinished(() => rm(`${directory}-away`, { recursive: true, force: true }))
    await store.rescan()
    await store.rescan()
    expect(names(store)).toEqual(['a'])
    expect(complaints).toEqual([expect.stringContaining('cannot be read: ENOENT')])
    await rename(`${directory}-away`, directory)
    await write('b.yaml', buildBinding('b'))
    await store.rescan()
    expect(names(store)).toEqual(['a', 'b'])
  })

  test('gives every object a uid, its default namespace, and an increasing version', async () => {
    const { write, start } = await openFolder()
    const { spec, ...rest } = buildBinding('a')
    const binding: ResourceBinding = { ...rest, spec, metadata: { name: 'a' } }
    await write('a.yaml', binding, buildCluster('north-1'))
    const store = await start()
    const read = await store.read(resourceBindings, 'default', 'a')
    expect(read?.metadata).toMatchObject({
      namespace: 'default',
      uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
      generation: 1,
    })
    const first = Number(read?.metadata.resourceVersion)
    const grown: ResourceBinding = { ...binding, spec: { ...spec, replicas: 2 } }
    await write('a.yaml', grown, buildCluster('north-1'))
    await store.rescan()
    const again = await store.read(resourceBindings, 'default', 'a')
    expect(again?.metadata).toMatchObject({ uid: read?.metadata.uid, generation: 2 })
    expect(Number(again?.metadata.resourceVersion)).toBeGreaterThan(first)
  })

  test('has objects of every kind, even of kinds that are not cached', async () => {
    const { write, start } = await openFolder()
    const config = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings' }, data: { a: 'b' } }
    await write('a.yaml', buildBinding('a'), config)
    const store = await start()
    expect(store.objects().map(({ object, line }) => `${line} ${object.kind}`)).toEqual([
      '1 ResourceBinding',
      '3 ConfigMap',
    ])
    expect(await store.read(configMaps, 'default', 'settings')).toMatchObject({ data: { a: 'b' } })
    expect(await store.read(configMaps, 'other', 'settings')).toBeUndefined()
    await store.create(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'x', name: 'made' } })
    expect(store.objects().at(-1)).toEqual({ object: expect.objectContaining({ kind: 'ConfigMap' }) })
  })

  test('does not change when a returned object is changed', async () => {
    const { write, start } = await openFolder()
    await write('a.yaml', buildBinding('a', { replicas: 1 }))
    const store = await start()
    const read = await store.read(resourceBindings, 'shop', 'a')
    if (read) read.spec.replicas = 99
    expect((await store.read(resourceBindings, 'shop', 'a'))?.spec.replicas).toBe(1)
    const given = buildBinding('b', { replicas: 1 })
    await store.create(resourceBindings, given)
    given.spec.replicas = 99
    expect((await store.read(resourceBindings, 'shop', 'b'))?.spec.replicas).toBe(1)
  })
})

describe('a written object', () => {
  test('replaces its manifest as long as the manifest does not change', async () => {
    const { write, start } = await openFolder()
    await write('a.yaml', buildBinding('a', { replicas: 1 }), buildBinding('b'))
    const store = await start()
    await writeOver(store, 'a', 5)
    await store.create(resourceBindings, buildBinding('made'))
    await write('a.yaml', '# only a comment\n', buildBinding('a', { replicas: 1 }), buildBinding('b', { replicas: 7 }))
    await store.rescan()
    expect([replicas(store, 'a'), replicas(store, 'b')]).toEqual([5, 7])
    expect(names(store)).toEqual(['a', 'b', 'made'])
  })

  test('is replaced when its manifest changes, and removed with it', async () => {
    const { write, start } = await openFolder()
    await write('a.yaml', buildBinding('a', { replicas: 1 }), buildBinding('b'))
    const store = await start()
    const written = await writeOver(store, 'a', 5)
    await writeOver(store, 'b', 5)
    await write('a.yaml', buildBinding('a', { replicas: 2 }))
    await store.rescan()
    expect(replicas(store, 'a')).toBe(2)
    expect(names(store)).toEqual(['a'])
    await expect(store.update(resourceBindings, written)).rejects.toThrow('changed since it was read')
  })

  test('that is being deleted is removed with its last finalizer', async () => {
    const { start } = await openFolder()
    const store = await start()
    const binding = buildBinding('a')
    const metadata = { ...binding.metadata, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['lodestone.dev/x'] }
    const created = await store.create(resourceBindings, { ...binding, metadata })
    const { finalizers: _, ...rest } = created.metadata
    await store.update(resourceBindings, { ...created, metadata: rest })
    expect(names(store)).toEqual([])
  })
  test('stays deleted until its manifest changes, and then has another uid', async () => {
    const { write, start } = await openFolder()
    await write('a.yaml', buildBinding('a', { replicas: 1 }), buildBinding('b'))
    const store = await start()
    const read = (await store.read(resourceBindings, 'shop', 'a')) as ResourceBinding
    await store.delete(resourceBindings, read)
    await store.rescan()
    expect(names(store)).toEqual(['b'])
    await write('a.yaml', buildBinding('a', { replicas: 2 }), buildBinding('b'))
    await store.rescan()
    expect(replicas(store, 'a')).toBe(2)
    expect((await store.read(resourceBindings, 'shop', 'a'))?.metadata.uid).not.toBe(read.metadata.uid)
  })

  test('that was deleted and created again stays, and is removed with its manifest', async () => {
    const { write, start } = await openFolder()
    await write('a.yaml', buildBinding('a', { replicas: 1 }), buildBinding('b'))
    const store = await start()
    await store.delete(resourceBindings, (await store.read(resourceBindings, 'shop', 'a')) as ResourceBinding)
    await store.create(resourceBindings, buildBinding('a', { replicas: 7 }))
    await store.rescan()
    expect(replicas(store, 'a')).toBe(7)
    await write('a.yaml', buildBinding('b'))
    await store.rescan()
    expect(names(store)).toEqual(['b'])
    await write('a.yaml', buildBinding('a', { replicas: 1 }), buildBinding('b'))
    await store.rescan()
    expect(replicas(store, 'a')).toBe(1)
  })

  test('cannot be renamed by a patch, and keeps its deletionTimestamp in later writes', async () => {
    const { write, start } = await openFolder()
    const binding = buildBinding('a')
    await write('a.yaml', { ...binding, metadata: { ...binding.metadata, finalizers: ['lodestone.dev/x'] } })
    const store = await start()
    const reference = { namespace: 'shop', name: 'a' }
    const rename = store.patch(resourceBindings, reference, { metadata: { name: 'b' } })
    await expect(rename).rejects.toThrow('a patch cannot change kind, namespace or name')
    await expect(store.patch(resourceBindings, reference, { metadata: { uid: 'other' } })).rejects.toThrow(
      ConflictError,
    )
    await store.delete(resourceBindings, (await store.read(resourceBindings, 'shop', 'a')) as ResourceBinding)
    const patched = await store.patch(resourceBindings, reference, {
      metadata: { deletionTimestamp: null, labels: { a: 'b' } },
    })
    const { deletionTimestamp } = patched.metadata
    expect(deletionTimestamp).toBeTruthy()
    const { deletionTimestamp: _, ...metadata } = patched.metadata
    const updated = await store.update(resourceBindings, { ...patched, metadata: { ...metadata, labels: {} } })
    expect(updated.metadata).toMatchObject({ deletionTimestamp, labels: {} })
  })
})
