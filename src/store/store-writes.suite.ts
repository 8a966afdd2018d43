/** Tests the writes of an `ObjectStore`. Each write has the resource version that was read. */
import { describe, expect, test } from 'vitest'
import { clusters, type ResourceBinding, resourceBindings } from '../api/karmada.ts'
import { until } from '../base/time/clock.fake.ts'
import { guardWrites } from './guarded-store.ts'
import { buildBinding, buildCluster } from './objects.fake.ts'
import { ConflictError, NotFoundError } from './store.ts'
import { type OpenStore, useStore } from './store-under-test.fake.ts'

export function describeWrites(open: OpenStore): void {
  describe('writes', () => {
    const subject = useStore(open)
    const { started, shown } = subject

    test('a created object has a uid and a resource version, and is cached', async () => {
      await started()
      const created = await subject.store.create(resourceBindings, buildBinding('web'))
      expect(created.metadata.resourceVersion).toBeTruthy()
      expect(created.metadata.uid).toBeTruthy()
      await until(() => shown('web')?.metadata.resourceVersion === created.metadata.resourceVersion)
      await expect(subject.store.create(resourceBindings, buildBinding('web'))).rejects.toThrow(ConflictError)
      await expect(subject.store.create(resourceBindings, created)).rejects.toThrow(
        'must not have a metadata.resourceV',
      )
    })

    test('a dry run answers as a creation does, and stores nothing', async () => {
      await started()
      const { store } = subject
      const isDryRun = true

      expect(await store.create(resourceBindings, buildBinding('web'), { isDryRun })).toMatchObject({ spec: {} })
      expect(await store.read(resourceBindings, 'shop', 'web')).toBeUndefined()

      await store.create(resourceBindings, buildBinding('web'))
      await expect(store.create(resourceBindings, buildBinding('web'), { isDryRun })).rejects.toThrow(ConflictError)
    })

    test('an update succeeds once, and conflicts with a write since the read', async () => {
      await started()
      const created = await subject.store.create(resourceBindings, buildBinding('web'))
      const changed = { ...created, spec: { ...created.spec, replicas: 3 } }
      const updated = await subject.store.update(resourceBindings, changed)
      expect(updated.metadata.resourceVersion).not.toBe(created.metadata.resourceVersion)
      expect(updated.metadata.uid).toBe(created.metadata.uid)
      await expect(subject.store.update(resourceBindings, changed)).rejects.toThrow(ConflictError)
      await until(() => shown('web')?.spec.replicas === 3)
    })

    test('an update without changes creates no new version', async () => {
      await started()
      const created = await subject.store.create(resourceBindings, buildBinding('web'))
      const updated = await subject.store.update(resourceBindings, created)
      expect(updated.metadata.resourceVersion).toBe(created.metadata.resourceVersion)
    })

    test('an update of a deleted object, or without a resource version, throws', async () => {
      await started()
      const { store } = subject
      const gone = { ...buildBinding('gone'), metadata: { namespace: 'shop', name: 'gone', resourceVersion: '1' } }
      await expect(store.update(resourceBindings, gone)).rejects.toThrow(NotFoundError)
      await expect(store.update(resourceBindings, buildBinding('web'))).rejects.toThrow(
        'needs metadata.resourceVersion',
      )
    })

    test('a created object with a generateName gets a unique name', async () => {
      await started()
      const nameless = { ...buildBinding('any'), metadata: { namespace: 'shop', generateName: 'web-' } }
      const created = [
        await subject.store.create(resourceBindings, nameless),
        await subject.store.create(resourceBindings, nameless),
      ]
      const [first, second] = created.map((object) => object.metadata.name ?? '')
      for (const name of [first, second]) expect(name).toMatch(/^web-.+/)
      expect(first).not.toBe(second)
      await until(() => shown(first ?? '') !== undefined && shown(second ?? '') !== undefined)
    })

    test('a patch changes the given fields, removes null fields, and is cached', async () => {
      await started()
      const created = await subject.store.create(resourceBindings, buildBinding('web', { replicas: 1 }))
      const patch = {
        metadata: { annotations: { note: null, more: 'yes' } },
        spec: { replicas: 3, resource: undefined },
      }
      const patched = await subject.store.patch(resourceBindings, { namespace: 'shop', name: 'web' }, patch)
      expect(patched).toMatchObject({ apiVersion: created.apiVersion, kind: created.kind })
      expect(patched.metadata).toMatchObject({ uid: created.metadata.uid, annotations: { more: 'yes' } })
      expect(patched.metadata.annotations).not.toHaveProperty('note')
      expect(patched.metadata.resourceVersion).not.toBe(created.metadata.resourceVersion)
      expect(patched.spec).toEqual({ ...created.spec, replicas: 3 })
      expect(await subject.store.read(resourceBindings, 'shop', 'web')).toEqual(patched)
      await until(() => shown('web')?.spec.replicas === 3)
    })

    test('a patch of a cluster-scoped object needs no namespace', async () => {
      await started()
      await subject.store.create(clusters, buildCluster('north-1'))
      await subject.store.patch(clusters, { name: 'north-1' }, { spec: { region: 'south' } })
      await until(() => subject.store.get(clusters, undefined, 'north-1')?.spec.region === 'south')
    })

    test('a patch with a resource version succeeds once, and conflicts with a write since', async () => {
      await started()
      const { metadata } = await subject.store.create(resourceBindings, buildBinding('web'))
      const reference = { namespace: 'shop', name: 'web' }
      const patch = { metadata: { resourceVersion: metadata.resourceVersion }, spec: { replicas: 3 } }
      await subject.store.patch(resourceBindings, reference, patch)
      await expect(subject.store.patch(resourceBindings, reference, patch)).rejects.toThrow(ConflictError)
      const gone = { namespace: 'shop', name: 'gone' }
      await expect(subject.store.patch(resourceBindings, gone, patch)).rejects.toThrow(NotFoundError)
    })

    test('a patch without changes creates no new version', async () => {
      await started()
      const { metadata } = await subject.store.create(resourceBindings, buildBinding('web', { replicas: 1 }))
      const patch = { metadata: { resourceVersion: metadata.resourceVersion }, spec: { replicas: 1 } }
      const patched = await subject.store.patch(resourceBindings, { namespace: 'shop', name: 'web' }, patch)
      expect(patched.metadata.resourceVersion).toBe(metadata.resourceVersion)
    })

    test('only a patch of the status changes the status', async () => {
      await started()
      await subject.store.create(resourceBindings, buildBinding('web', { replicas: 1 }))
      const reference = { namespace: 'shop', name: 'web' }
      const patch = (ready: boolean): Record<string, unknown> => ({
        metadata: { annotations: { ready: String(ready) } },
        spec: { replicas: 9 },
        status: { ready, conditions: [] },
      })
      const first = await subject.store.patch(resourceBindings, reference, patch(true), { subresource: 'status' })
      expect(first).toMatchObject({ spec: { replicas: 1 }, status: { ready: true, conditions: [] } })
      expect(first.metadata.annotations).toEqual({ note: 'not kept' })
      const second = await subject.store.patch(resourceBindings, reference, patch(false))
      expect(second).toMatchObject({ spec: { replicas: 9 }, status: { ready: true } })
      expect(second.metadata.annotations).toEqual({ note: 'not kept', ready: 'false' })
    })

    test('a deleted object is gone, and a second delete succeeds', async () => {
      await started()
      const { store } = subject
      const created = await store.create(resourceBindings, buildBinding('web'))
      await until(() => shown('web') !== undefined)
      await store.delete(resourceBindings, created)
      await until(() => shown('web') === undefined)
      expect(await store.read(resourceBindings, 'shop', 'web')).toBeUndefined()
      await store.delete(resourceBindings, created)
      const again = await store.create(resourceBindings, buildBinding('web'))
      expect(again.metadata.uid).not.toBe(created.metadata.uid)
      await expect(store.delete(resourceBindings, created)).rejects.toThrow(ConflictError)
    })

    test('a delete conflicts with a write since the read, and needs a resource version', async () => {
      await started()
      const { store } = subject
      const created = await store.create(resourceBindings, buildBinding('web'))
      const { uid: _, ...metadata } = created.metadata
      await store.update(resourceBindings, { ...created, spec: { ...created.spec, replicas: 3 } })
      await expect(store.delete(resourceBindings, created)).rejects.toThrow(ConflictError)
      await expect(store.delete(resourceBindings, { ...created, metadata })).rejects.toThrow(ConflictError)
      await expect(store.delete(resourceBindings, buildBinding('web'))).rejects.toThrow(
        'needs metadata.resourceVersion',
      )
      expect(await store.read(resourceBindings, 'shop', 'web')).toBeDefined()
    })

    test('a write that its caller refuses at the last moment changes nothing', async () => {
      await started()
      const { store } = subject
      const created = await store.create(resourceBindings, buildBinding('web'))
      const guarded = guardWrites(store, () => {
        throw new Error('no longer the leader')
      })
      const refused = [
        guarded.create(resourceBindings, buildBinding('other')),
        guarded.update(resourceBindings, { ...created, spec: { ...created.spec, replicas: 3 } }),
        guarded.patch(resourceBindings, { namespace: 'shop', name: 'web' }, { spec: { replicas: 3 } }),
        guarded.delete(resourceBindings, created),
      ]
      for (const write of refused) await expect(write).rejects.toThrow('no longer the leader')
      expect(await guarded.read(resourceBindings, 'shop', 'web')).toEqual(created)
      expect(await guarded.read(resourceBindings, 'shop', 'other')).toBeUndefined()
    })

    test('a deleted object with finalizers stays until the last one is removed', async () => {
      await started()
      const { store } = subject
      const binding = buildBinding('web')
      const finalizers = ['lodestone.dev/a', 'lodestone.dev/b']
      const created = await store.create(resourceBindings, {
        ...binding,
        metadata: { ...binding.metadata, finalizers },
      })
      await until(() => shown('web') !== undefined)
      await store.delete(resourceBindings, created)
      const marked = await store.read(resourceBindings, 'shop', 'web')
      expect(marked?.metadata).toMatchObject({
        deletionTimestamp: expect.stringMatching(/^[\d-]+T[\d:]+Z$/),
        finalizers,
      })
      if (marked) await store.delete(resourceBindings, marked)
      expect(await store.read(resourceBindings, 'shop', 'web')).toEqual(marked)

      const release = (finalizers: string[] | null): Promise<ResourceBinding> =>
        store.patch(resourceBindings, { namespace: 'shop', name: 'web' }, { metadata: { finalizers } })
      await release(['lodestone.dev/b'])
      expect(await store.read(resourceBindings, 'shop', 'web')).toBeDefined()
      await release(null)
      expect(await store.read(resourceBindings, 'shop', 'web')).toBeUndefined()
      await until(() => shown('web') === undefined)
    })
  })
}
