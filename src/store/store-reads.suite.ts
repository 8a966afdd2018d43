/** Tests the reads of an `ObjectStore`, and the changes that it reports. */
import { describe, expect, test } from 'vitest'
import { secrets } from '../api/dependencies.ts'
import { clusters, type ResourceBinding, resourceBindings } from '../api/karmada.ts'
import type { K8sObject } from '../api/meta.ts'
import { until } from '../base/time/clock.fake.ts'
import { buildBinding, buildCluster, buildSecret } from './objects.fake.ts'
import { NotSyncedError, type StoreChange } from './store.ts'
import { type OpenStore, useStore } from './store-under-test.fake.ts'

export function describeReads(open: OpenStore): void {
  describe('reads and changes', () => {
    const subject = useStore(open)
    const { errors, started, shown } = subject

    test('a read of a kind that is not synced throws', async () => {
      const { store } = subject
      expect(store.synced()).toBe(false)
      expect(store.unsynced().map((type) => type.kind)).toEqual(['ResourceBinding', 'Cluster', 'Secret'])
      expect(() => store.get(resourceBindings, 'shop', 'web')).toThrow(NotSyncedError)
      expect(() => store.list(resourceBindings)).toThrow(NotSyncedError)
      expect(() => store.byIndex(resourceBindings, 'workload', 'web')).toThrow(NotSyncedError)
      expect(() => store.size(resourceBindings)).toThrow(NotSyncedError)
      expect(() => store.serves(resourceBindings)).toThrow(NotSyncedError)
    })

    test('objects from before the start are found by name, by index and in the list', async () => {
      await subject.put(resourceBindings, buildBinding('web'))
      await subject.put(resourceBindings, buildBinding('web-2', { workload: 'web' }))
      await subject.put(clusters, buildCluster('north-1'))
      await started()
      const { store } = subject
      expect(store.synced()).toBe(true)
      expect(shown('web')?.spec.resource.name).toBe('web')
      expect([...store.list(resourceBindings)].map((object) => object.metadata.name).sort()).toEqual(['web', 'web-2'])
      expect(store.byIndex(resourceBindings, 'workload', 'web')).toHaveLength(2)
      expect(store.byIndex(resourceBindings, 'workload', 'other')).toEqual([])
      expect(store.size(resourceBindings)).toBe(2)
      expect(store.serves(resourceBindings)).toBe(true)
      expect(store.get(clusters, undefined, 'north-1')?.spec.region).toBe('north')
      expect(shown('nothing')).toBeUndefined()
    })

    test('the store returns the kinds that have an index, even before they are synced', () => {
      const { store } = subject
      expect(store.typesWithIndex('workload')).toEqual([resourceBindings])
      expect(store.typesWithIndex('unheard-of')).toEqual([])
    })

    test('a store without objects is synced and empty', async () => {
      await started()
      expect([...subject.store.list(resourceBindings)]).toEqual([])
      expect(subject.store.unsynced()).toEqual([])
    })

    test('an unknown index and a kind that is not cached throw', async () => {
      await started()
      expect(() => subject.store.byIndex(resourceBindings, 'wrokload', 'web')).toThrow('no index "wrokload"')
      expect(() => subject.store.get({ ...clusters, kind: 'Other' }, undefined, 'x')).toThrow('not cached')
    })

    test('changes of other clients are published with the object before and after', async () => {
      await started()
      const changes: StoreChange[] = []
      subject.store.subscribe((change) => changes.push(change))
      await subject.put(resourceBindings, buildBinding('web', { replicas: 1 }))
      await until(() => shown('web') !== undefined)
      await subject.put(resourceBindings, buildBinding('web', { replicas: 5 }))
      await until(() => shown('web')?.spec.replicas === 5)
      await subject.remove(resourceBindings, 'shop', 'web')
      await until(() => shown('web') === undefined)
      const replicas = changes.map(({ type, before, after }) => [
        type.kind,
        (before as ResourceBinding | undefined)?.spec.replicas,
        (after as ResourceBinding | undefined)?.spec.replicas,
      ])
      expect(replicas).toEqual([
        ['ResourceBinding', undefined, 1],
        ['ResourceBinding', 1, 5],
        ['ResourceBinding', 5, undefined],
      ])
      expect(subject.store.byIndex(resourceBindings, 'workload', 'web')).toEqual([])
    })

    test('objects of the initial list are not published, later changes are', async () => {
      await subject.put(resourceBindings, buildBinding('web'))
      const seen: (string | undefined)[] = []
      subject.store.subscribe(({ before, after }) => seen.push(`${before?.metadata.name} ${after?.metadata.name}`))
      await started()
      expect(shown('web')).toBeDefined()
      await subject.put(resourceBindings, buildBinding('web-2'))
      await until(() => seen.length > 0)
      expect(seen).toEqual(['undefined web-2'])
    })

    test('an unsubscribed listener is not called, and one that throws affects no other one', async () => {
      await started()
      const heard: string[] = []
      const unsubscribe = subject.store.subscribe(() => heard.push('gone'))
      subject.store.subscribe(() => {
        throw new Error('a mistake in a listener')
      })
      subject.store.subscribe(() => heard.push('here'))
      unsubscribe()
      unsubscribe()
      await subject.put(resourceBindings, buildBinding('web'))
      await until(() => heard.length > 0)
      expect(heard).toEqual(['here'])
      expect(errors).toEqual(['a listener failed'])
      await subject.put(resourceBindings, buildBinding('web-2'))
      await until(() => shown('web-2') !== undefined)
    })

    test('a list of an index stays as it was after later changes', async () => {
      await subject.put(resourceBindings, buildBinding('web'))
      await started()
      const before = subject.store.byIndex(resourceBindings, 'workload', 'web')
      await subject.put(resourceBindings, buildBinding('web-2', { workload: 'web' }))
      await until(() => subject.store.byIndex(resourceBindings, 'workload', 'web').length === 2)
      expect(before).toHaveLength(1)
    })

    test('the cache has the fields that the kind keeps, and `read` the whole object', async () => {
      await subject.put(resourceBindings, buildBinding('web'))
      await started()
      expect(shown('web')?.metadata.annotations).toBeUndefined()
      const whole = await subject.store.read(resourceBindings, 'shop', 'web')
      expect(whole?.metadata.annotations).toEqual({ note: 'not kept' })
      expect(await subject.store.read(resourceBindings, 'shop', 'nothing')).toBeUndefined()
    })

    test('only the metadata of a metadata-only kind is cached and published', async () => {
      await subject.put(secrets, buildSecret('there', { labels: { for: 'web' } }))
      const told: unknown[] = []
      subject.store.subscribe(({ before, after }) => told.push(before, after))
      await started()
      await subject.put(secrets, buildSecret('new'))
      const held = (name: string): K8sObject | undefined => subject.store.get(secrets, 'shop', name)
      await until(() => held('new') !== undefined)
      const version = held('new')?.metadata.resourceVersion
      await subject.put(secrets, buildSecret('new', { password: 'changed' }))
      await until(() => held('new')?.metadata.resourceVersion !== version)

      expect(held('there')).toMatchObject({ apiVersion: 'v1', kind: 'Secret', metadata: { labels: { for: 'web' } } })
      expect(held('there')?.metadata.uid).toBeTruthy()
      for (const secret of subject.store.list(secrets)) {
        expect(Object.keys(secret).sort()).toEqual(['apiVersion', 'kind', 'metadata'])
      }
      expect(told).not.toEqual([])
      expect(JSON.stringify(told)).not.toContain('password')
      await subject.remove(secrets, 'shop', 'new')
      await until(() => held('new') === undefined)
      expect(await subject.store.read(secrets, 'shop', 'there')).toMatchObject({ data: buildSecret('there').data })
    })

    test('an object of a metadata-only kind is written whole, and not cached whole', async () => {
      await started()
      const created = await subject.store.create(secrets, buildSecret('new'))
      expect(created).toMatchObject({ data: buildSecret('new').data })
      await until(() => subject.store.get(secrets, 'shop', 'new') !== undefined)
      const patch = { metadata: { labels: { for: 'web' } } }
      const patched = await subject.store.patch(secrets, { namespace: 'shop', name: 'new' }, patch)
      expect(patched).toMatchObject({ data: buildSecret('new').data })
      await until(() => subject.store.get(secrets, 'shop', 'new')?.metadata.labels?.['for'] === 'web')
      expect(subject.store.get(secrets, 'shop', 'new')).not.toHaveProperty('data')
    })

    test('an aborted start rejects, and a second stop has no effect', async () => {
      await expect(subject.store.start(AbortSignal.abort(new Error('given up')))).rejects.toThrow('given up')
      await subject.store.stop()
      await subject.store.stop()
    })

    test('starting twice starts once', async () => {
      const seen: StoreChange[] = []
      subject.store.subscribe((change) => seen.push(change))
      await Promise.all([started(), started()])
      await subject.put(resourceBindings, buildBinding('web'))
      await until(() => seen.length > 0)
      expect(seen).toHaveLength(1)
    })
  })
}
