/** The contract of every `ObjectStore`, as tests that each implementation runs. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { secrets } from '../api/dependencies.ts'
import { type Cluster, clusters, type ResourceBinding, resourceBindings } from '../api/karmada.ts'
import type { K8sObject, ResourceType } from '../api/meta.ts'
import { until } from '../time/clock.fake.ts'
import type { StoreObserver } from './observer.ts'
import {
  type CachedKind,
  ConflictError,
  NotFoundError,
  NotSyncedError,
  type ObjectStore,
  type StoreChange,
} from './store.ts'

/** A store under test, and another client that writes to its source. */
export interface StoreUnderTest {
  store: ObjectStore
  put(type: ResourceType, object: K8sObject): Promise<void>
  remove(type: ResourceType, namespace: string | undefined, name: string): Promise<void>
  close(): Promise<void>
}

export const bindingKind: CachedKind<ResourceBinding> = {
  type: resourceBindings,
  keep: ({ apiVersion, kind, metadata: { namespace, name, uid, resourceVersion }, spec }) => ({
    apiVersion,
    kind,
    metadata: {
      ...(namespace && { namespace }),
      ...(name && { name }),
      ...(uid && { uid }),
      ...(resourceVersion && { resourceVersion }),
    },
    spec: { resource: spec.resource, ...(spec.replicas && { replicas: spec.replicas }) },
  }),
  indexes: { workload: (binding) => [binding.spec.resource.name] },
}

export const clusterKind: CachedKind<Cluster> = { type: clusters, keep: (raw) => raw, indexes: {} }

export function buildBinding(name: string, input: { workload?: string; replicas?: number } = {}): ResourceBinding {
  return {
    apiVersion: 'work.karmada.io/v1alpha2',
    kind: 'ResourceBinding',
    metadata: { namespace: 'shop', name, annotations: { note: 'not kept' } },
    spec: {
      resource: { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name: input.workload ?? name },
      replicas: input.replicas ?? 1,
    },
  }
}

export function buildCluster(name: string): Cluster {
  return { apiVersion: 'cluster.karmada.io/v1alpha1', kind: 'Cluster', metadata: { name }, spec: { region: 'north' } }
}

type Secret = K8sObject & { data?: Record<string, string> }

/** It keeps what it gets: whether that is the metadata alone is the store's to see to. */
export const secretKind: CachedKind<Secret> = { type: secrets, keep: (raw) => raw, indexes: {}, metadataOnly: true }

function buildSecret(name: string, input: { password?: string; labels?: Record<string, string> } = {}): Secret {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: 'shop', name, labels: input.labels ?? {} },
    data: { password: btoa(input.password ?? 'open sesame') },
  }
}

/** Runs the suite; `open` gives a store that is not started yet and caches `bindingKind`, `clusterKind` and `secretKind`. */
export function describeObjectStore(
  name: string,
  open: (observer: Partial<StoreObserver>) => Promise<StoreUnderTest>,
): void {
  describe(`${name} is an ObjectStore`, () => {
    const errors: string[] = []
    const started = (): Promise<void> => subject.store.start(new AbortController().signal)
    const shown = (name: string): ResourceBinding | undefined => subject.store.get(resourceBindings, 'shop', name)
    let subject: StoreUnderTest

    beforeEach(async () => {
      errors.length = 0
      subject = await open({ error: ({ message }) => errors.push(message) })
    })
    afterEach(async () => {
      await subject.store.stop()
      await subject.close()
    })

    test('a kind that was not read yet is unknown, not empty', async () => {
      const { store } = subject
      expect(store.synced()).toBe(false)
      expect(store.unsynced().map((type) => type.kind)).toEqual(['ResourceBinding', 'Cluster', 'Secret'])
      expect(() => store.get(resourceBindings, 'shop', 'web')).toThrow(NotSyncedError)
      expect(() => store.list(resourceBindings)).toThrow(NotSyncedError)
      expect(() => store.byIndex(resourceBindings, 'workload', 'web')).toThrow(NotSyncedError)
      expect(() => store.size(resourceBindings)).toThrow(NotSyncedError)
      expect(() => store.serves(resourceBindings)).toThrow(NotSyncedError)
    })

    test('objects that were there before are found by name, by index and in the list', async () => {
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

    test('it tells which kinds have an index, also before they are read', () => {
      const { store } = subject
      expect(store.typesWithIndex('workload')).toEqual([resourceBindings])
      expect(store.typesWithIndex('unheard-of')).toEqual([])
    })

    test('a store of nothing is synced and empty', async () => {
      await started()
      expect([...subject.store.list(resourceBindings)]).toEqual([])
      expect(subject.store.unsynced()).toEqual([])
    })

    test('a misspelt index and a kind that is not cached are mistakes, not empty answers', async () => {
      await started()
      expect(() => subject.store.byIndex(resourceBindings, 'wrokload', 'web')).toThrow('no index "wrokload"')
      expect(() => subject.store.get({ ...clusters, kind: 'Other' }, undefined, 'x')).toThrow('not cached')
    })

    test('what others create, change and delete arrives, with what was before', async () => {
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

    test('objects that are there at the start are no news: they are listed, and only what comes after them is told', async () => {
      await subject.put(resourceBindings, buildBinding('web'))
      const seen: (string | undefined)[] = []
      subject.store.subscribe(({ before, after }) => seen.push(`${before?.metadata.name} ${after?.metadata.name}`))
      await started()
      expect(shown('web')).toBeDefined()
      await subject.put(resourceBindings, buildBinding('web-2'))
      await until(() => seen.length > 0)
      expect(seen).toEqual(['undefined web-2'])
    })

    test('an unsubscribed listener is not called, and a listener that throws does not affect the others', async () => {
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

    test('the cache holds what the kind keeps, and reading gives the whole object', async () => {
      await subject.put(resourceBindings, buildBinding('web'))
      await started()
      expect(shown('web')?.metadata.annotations).toBeUndefined()
      const whole = await subject.store.read(resourceBindings, 'shop', 'web')
      expect(whole?.metadata.annotations).toEqual({ note: 'not kept' })
      expect(await subject.store.read(resourceBindings, 'shop', 'nothing')).toBeUndefined()
    })

    test('of a kind whose contents are not wanted the metadata is held and told, and nothing else', async () => {
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

    test('an object of such a kind is written whole, and its contents are not shown', async () => {
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

    test('a created object comes back with an identity and is shown', async () => {
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

    test('an update wins once, and loses against what was written since it was read', async () => {
      await started()
      const created = await subject.store.create(resourceBindings, buildBinding('web'))
      const changed = { ...created, spec: { ...created.spec, replicas: 3 } }
      const updated = await subject.store.update(resourceBindings, changed)
      expect(updated.metadata.resourceVersion).not.toBe(created.metadata.resourceVersion)
      expect(updated.metadata.uid).toBe(created.metadata.uid)
      await expect(subject.store.update(resourceBindings, changed)).rejects.toThrow(ConflictError)
      await until(() => shown('web')?.spec.replicas === 3)
    })

    test('an update that changes nothing makes no new version', async () => {
      await started()
      const created = await subject.store.create(resourceBindings, buildBinding('web'))
      const updated = await subject.store.update(resourceBindings, created)
      expect(updated.metadata.resourceVersion).toBe(created.metadata.resourceVersion)
    })

    test('an update of what is gone, and one without a version, say so', async () => {
      await started()
      const { store } = subject
      const gone = { ...buildBinding('gone'), metadata: { namespace: 'shop', name: 'gone', resourceVersion: '1' } }
      await expect(store.update(resourceBindings, gone)).rejects.toThrow(NotFoundError)
      await expect(store.update(resourceBindings, buildBinding('web'))).rejects.toThrow('needs the metadata.resourceV')
    })

    test('a created object without a name gets one of its own', async () => {
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

    test('a patch changes what it names, removes what is null, and is shown', async () => {
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

    test('a patch of a version wins once, and loses against what was written since', async () => {
      await started()
      const { metadata } = await subject.store.create(resourceBindings, buildBinding('web'))
      const reference = { namespace: 'shop', name: 'web' }
      const patch = { metadata: { resourceVersion: metadata.resourceVersion }, spec: { replicas: 3 } }
      await subject.store.patch(resourceBindings, reference, patch)
      await expect(subject.store.patch(resourceBindings, reference, patch)).rejects.toThrow(ConflictError)
      const gone = { namespace: 'shop', name: 'gone' }
      await expect(subject.store.patch(resourceBindings, gone, patch)).rejects.toThrow(NotFoundError)
    })

    test('a patch that changes nothing makes no new version', async () => {
      await started()
      const { metadata } = await subject.store.create(resourceBindings, buildBinding('web', { replicas: 1 }))
      const patch = { metadata: { resourceVersion: metadata.resourceVersion }, spec: { replicas: 1 } }
      const patched = await subject.store.patch(resourceBindings, { namespace: 'shop', name: 'web' }, patch)
      expect(patched.metadata.resourceVersion).toBe(metadata.resourceVersion)
    })

    test('the status is patched alone, and nothing else patches it', async () => {
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

    test('a deleted object is gone; deleting it again is a success', async () => {
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

    test('a delete loses against what was written since the object was read, and needs its version', async () => {
      await started()
      const { store } = subject
      const created = await store.create(resourceBindings, buildBinding('web'))
      const { uid: _, ...metadata } = created.metadata
      await store.update(resourceBindings, { ...created, spec: { ...created.spec, replicas: 3 } })
      await expect(store.delete(resourceBindings, created)).rejects.toThrow(ConflictError)
      await expect(store.delete(resourceBindings, { ...created, metadata })).rejects.toThrow(ConflictError)
      await expect(store.delete(resourceBindings, buildBinding('web'))).rejects.toThrow('needs the metadata.resourceV')
      expect(await store.read(resourceBindings, 'shop', 'web')).toBeDefined()
    })

    test('a deleted object with finalizers stays, marked, until the last of them is removed', async () => {
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

    test('a start that is given up rejects, and stopping twice is harmless', async () => {
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
