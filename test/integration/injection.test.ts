/** Pods that wait for their volumes, on a store in memory: admission holds them, and the loop lets them go. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { AdmissionRequest } from '../../src/api/admission.ts'
import { type Pod, pods } from '../../src/api/pod.ts'
import { type VolumeManager, volumeManagers } from '../../src/api/volume-manager.ts'
import { publishVolume } from '../../src/core/volume-manager/rules/published.ts'
import { SHIPPED_KINDS } from '../../src/core/workload-kinds/kinds.ts'
import { type Controller, startController } from '../../src/reconcile/controller.ts'
import { podLoop } from '../../src/reconcile/volumes/pod.ts'
import { type FolderStore, openFolderStore } from '../../src/store/folder/folder.ts'
import { cachedKinds } from '../../src/store/kinds/cached-kinds.ts'
import { defaultSettings } from '../../src/webhooks/context.fake.ts'
import { podWebhook } from '../../src/webhooks/pod.ts'
import { makePod, makeVolumeManager } from '../builders.ts'
import { loopSettings } from '../loop-settings.ts'

let store: FolderStore
let controller: Controller | undefined
const problems: string[] = []
const told: string[] = []

beforeEach(async () => {
  store = openFolderStore({ kinds: cachedKinds })
  await store.start(new AbortController().signal)
  told.length = 0
})

afterEach(async () => {
  await controller?.stop()
  controller = undefined
  await store.stop()
  expect(problems.splice(0)).toEqual([])
})

function startLoop() {
  controller = startController({
    ...loopSettings,
    loops: [podLoop],
    store,
    events: { record: ({ reason, message }) => told.push(`${reason}: ${message}`) },
    now: Date.now,
    maxMovesPerMinute: 60,
    driftIntervalMs: 600_000,
    observer: {
      done: () => undefined,
      queryEnded: () => undefined,
      moved: () => undefined,
      failed: (loop, key, error) => problems.push(`${loop} ${key}: ${error}`),
    },
  })
}

/** The VolumeManager default/sales, whose only volume says this. */
function saying(message: string): VolumeManager {
  const manager = makeVolumeManager()
  const published = publishVolume(manager, manager.spec.volumeConfigs[0] as never)
  return { ...manager, status: { state: 'Pending', volumes: [{ ...published, message }] } }
}

/** Creates a pod as an API server does: what admission makes of it is stored. */
async function createPod(pod: Pod): Promise<void> {
  const { group, version, kind, plural } = pods
  const request: AdmissionRequest = {
    uid: 'u',
    kind: { group, version, kind },
    resource: { group, version, resource: plural },
    namespace: 'default',
    operation: 'CREATE',
    object: pod,
  }
  const outcome = podWebhook(SHIPPED_KINDS).review(request, {
    ...defaultSettings,
    store,
    now: 0,
  })
  if (outcome.kind === 'deny') throw new Error(JSON.stringify(outcome.errors))
  await store.create(pods, (outcome.kind === 'patch' ? outcome.object : pod) as Pod)
}

const gatesOf = async () => (await store.read(pods, 'default', 'trainer'))?.spec?.schedulingGates

test('a pod waits for its data, and goes when it is there', async () => {
  await store.create(volumeManagers, saying('0 of 1 replicas'))
  startLoop()
  await createPod(makePod({ name: 'sales' }))
  expect(await gatesOf()).toEqual([{ name: 'lodestone.dev/volumes' }])

  await store.patch(volumeManagers, { namespace: 'default', name: 'sales' }, saying('success') as never, {
    subresource: 'status',
  })

  await expect.poll(gatesOf).toBeUndefined()
  expect(told).toEqual(['VolumesReady: the data of all required volumes is ready'])
})

test('a pod of a Job whose data changed is deleted after the Job ceased to count it', async () => {
  const manager = saying('0 of 1 replicas')
  await store.create(volumeManagers, manager)
  const controlled = { apiVersion: 'batch/v1', kind: 'Job', name: 'train', uid: 'j', controller: true }
  const finalizers = ['batch.kubernetes.io/job-tracking']
  await createPod(makePod({ name: 'sales' }, {}, { ownerReferences: [controlled], finalizers }))
  const kept: unknown[] = []
  store.subscribe(({ type, after }) => {
    if (type.kind === pods.kind) kept.push(after?.metadata.finalizers)
  })
  startLoop()

  const [config] = manager.spec.volumeConfigs
  const elsewhere = { ...manager, spec: { volumeConfigs: [{ ...config, options: { sourceURL: 's3://other/' } }] } }
  const published = publishVolume(elsewhere as never, elsewhere.spec.volumeConfigs[0] as never)
  await store.patch(volumeManagers, { namespace: 'default', name: 'sales' }, { spec: elsewhere.spec } as never)
  const status = { volumes: [{ ...published, message: 'success' }] }
  await store.patch(volumeManagers, { namespace: 'default', name: 'sales' }, { status } as never, {
    subresource: 'status',
  })

  await expect.poll(() => store.read(pods, 'default', 'trainer')).toBeUndefined()
  expect(kept).toEqual([[], undefined])
  expect(told).toEqual([expect.stringMatching(/^VolumesReplaced: /)])
})

test('a pod whose data came while no loop ran is found', async () => {
  await store.create(volumeManagers, saying('0 of 1 replicas'))
  await createPod(makePod({ name: 'sales' }))
  await store.patch(volumeManagers, { namespace: 'default', name: 'sales' }, saying('success') as never, {
    subresource: 'status',
  })
  expect(await gatesOf()).toHaveLength(1)

  startLoop()

  await expect.poll(gatesOf).toBeUndefined()
})

test('of pods that do not wait nothing is held but what their dependencies follow from', async () => {
  await store.create(pods, makePod({ name: 'sales' }, {}, { name: 'other', annotations: { note: 'long' } }))
  await store.create(volumeManagers, saying('0 of 1 replicas'))
  await createPod(makePod({ name: 'sales' }))

  expect(store.get(pods, 'default', 'other')).not.toHaveProperty('spec')
  expect(store.get(pods, 'default', 'other')?.metadata).not.toHaveProperty('annotations')
  expect(store.get(pods, 'default', 'trainer')?.spec?.volumes).toHaveLength(1)
  expect(store.byIndex(pods, 'waitsFor', 'default/sales').map(({ metadata }) => metadata.name)).toEqual(['trainer'])
})

test('a pod whose VolumeManager is deleted gets the reason why it waits on', async () => {
  await store.create(volumeManagers, saying('0 of 1 replicas'))
  await createPod(makePod({ name: 'sales' }))
  startLoop()

  const manager = await store.read(volumeManagers, 'default', 'sales')
  await store.delete(volumeManagers, manager as VolumeManager)

  await expect.poll(() => told.at(-1)).toContain('there is no VolumeManager sales')
  expect(await gatesOf()).toHaveLength(1)
})
