/** A hub hands a VolumeManager on to its members: workloads that name it go where it is Running, whatever was created first. */
import { describe, expect, test } from 'vitest'
import { type ResourceBinding, resourceBindings } from '../../src/api/karmada.ts'
import type { K8sObject } from '../../src/api/meta.ts'
import { volumeManagers } from '../../src/api/volume-manager.ts'
import { decideBinding } from '../../src/core/resource-binding/decide.ts'
import { DEFAULT_TIMING } from '../../src/core/resource-binding/timing.ts'
import { gatherBindingInput } from '../../src/queries/binding.ts'
import { openLoops } from '../../src/reconcile/index.ts'
import type { FolderStore } from '../../src/store/folder/folder.ts'
import {
  DEFAULT_DECISIONS,
  makeBinding,
  makeCluster,
  makeDeployment,
  makeVolumeManager,
  NOW,
  OWNED,
} from '../builders.ts'
import { storeOf, typeOf } from '../stores.ts'
import { runLoops } from './controller.ts'

const manager = makeVolumeManager()
const workload = makeDeployment({}, ['sales'])
const binding = makeBinding({ propagateDeps: true }, OWNED)
const SCHEDULED = { clusters: [{ name: 'member2', replicas: 2 }] }

/** The binding of the VolumeManager, with a policy of its own. */
function managerBinding(...running: string[]): ResourceBinding {
  return bindingOf('sales', running)
}

function bindingOf(name: string, running: readonly string[]): ResourceBinding {
  const resource = { apiVersion: manager.apiVersion, kind: manager.kind, namespace: 'default', name }
  const made = makeBinding({ resource }, { name: `${name}-volumemanager` })
  return { ...made, status: statusOf(...running) }
}

function statusOf(...running: string[]) {
  return { aggregatedStatus: running.map((clusterName) => ({ clusterName, status: { state: 'Running' } })) }
}

function start(store: FolderStore): void {
  const timing = { ...DEFAULT_TIMING, releaseDelayMs: 0 }
  runLoops({ store, loops: openLoops({ propagate: 'never', distribution: 'none' }), timing })
}

function report(store: FolderStore, ...running: string[]) {
  return store.patch(
    resourceBindings,
    { namespace: 'default', name: 'sales-volumemanager' },
    { status: statusOf(...running) },
    { subresource: 'status' },
  )
}

const create = (store: FolderStore, object: K8sObject) => store.create(typeOf(object.apiVersion, object.kind), object)
const read = (store: FolderStore) => store.read<ResourceBinding>(resourceBindings, 'default', 'app-deployment')
const affinity = async (store: FolderStore) => (await read(store))?.spec.placement?.clusterAffinity?.clusterNames
const isHeld = async (store: FolderStore) => (await read(store))?.spec.suspension?.scheduling === true

function orders<T>(items: readonly T[]): T[][] {
  if (items.length < 2) return [[...items]]
  return items.flatMap((first, i) => orders(items.toSpliced(i, 1)).map((rest) => [first, ...rest]))
}

test.each(
  orders([
    { name: 'workload', object: workload },
    { name: 'binding', object: binding },
    { name: 'VolumeManager', object: manager },
    { name: 'its binding', object: managerBinding('member2') },
  ]).map((order) => ({ order, names: order.map(({ name }) => name).join(', ') })),
)('a workload goes to its data, created in this order: $names', async ({ order }) => {
  const store = await storeOf()
  start(store)
  for (const { object } of order) await create(store, object)

  await expect.poll(() => affinity(store)).toEqual(['member2'])
  await expect.poll(() => isHeld(store)).toBe(false)
})

test('at its creation, with known data, the binding is narrowed in the same request', async () => {
  const store = await storeOf([manager, workload, managerBinding('member2')])

  const {
    state,
    binding: decided,
    message,
  } = decideBinding(gatherBindingInput(binding, undefined, { ...DEFAULT_DECISIONS, store, now: NOW }))

  expect({ state, message }).toEqual({ state: 'Narrowed', message: 'VolumeManager default/sales is in member2' })
  expect(decided.spec.placement).toEqual({ clusterAffinity: { clusterNames: ['member2'] } })
})

test('until the data is in a member the workload is held, and told what it waits for', async () => {
  const store = await storeOf([manager, workload, managerBinding(), binding])
  start(store)

  await expect.poll(() => isHeld(store)).toBe(true)
  expect((await read(store))?.metadata.annotations?.['lodestone.dev/hold']).toContain(
    'VolumeManager default/sales: it is Running in no member yet',
  )
  await report(store, 'member3')
  await expect.poll(() => affinity(store)).toEqual(['member3'])
  await expect.poll(() => isHeld(store)).toBe(false)
})

test('a volume that is only preferred holds nothing', async () => {
  const annotations = { 'lodestone.dev/volumes': JSON.stringify({ name: 'sales', enforcement: 'Preferred' }) }
  const template = { metadata: { annotations }, spec: { containers: [{ name: 'main' }] } }
  const store = await storeOf([manager, managerBinding(), { ...workload, spec: { template } } as K8sObject])

  expect(decideBinding(gatherBindingInput(binding, undefined, { ...DEFAULT_DECISIONS, store, now: NOW })).state).toBe(
    'Ignored',
  )
})

test('a claim and a volume are met together: only where both are', async () => {
  const store = await storeOf([
    makeDeployment({}, ['sales', 'books']),
    manager,
    managerBinding('member1', 'member2'),
    makeVolumeManager([{}], { name: 'books' }),
    bindingOf('books', ['member2', 'member3']),
  ])

  const { binding: decided } = decideBinding(
    gatherBindingInput(binding, undefined, { ...DEFAULT_DECISIONS, store, now: NOW }),
  )

  expect(decided.spec.placement?.clusterAffinity?.clusterNames).toEqual(['member2'])
})

describe('a workload that runs beside its data', () => {
  async function settled() {
    const store = await storeOf([manager, workload, managerBinding('member2'), makeBinding(SCHEDULED, OWNED)])
    start(store)
    await expect.poll(() => affinity(store)).toEqual(['member2'])
    return store
  }

  test('may go to a member that has it as well', async () => {
    const store = await settled()

    await report(store, 'member2', 'member3')

    await expect.poll(() => affinity(store)).toEqual(['member2', 'member3'])
  })

  test('follows it when it is elsewhere', async () => {
    const store = await settled()

    await report(store, 'member3')

    await expect.poll(() => affinity(store)).toEqual(['member3'])
  })

  test('stays when it is nowhere, and when the VolumeManager is deleted', async () => {
    const store = await settled()
    const note = async () => (await read(store))?.metadata.annotations?.['lodestone.dev/locality']

    await report(store)
    await expect.poll(note).toContain('it is Running in no member yet')
    expect(await affinity(store)).toEqual(['member2'])

    const held = await store.read(volumeManagers, 'default', 'sales')
    if (held) await store.delete(volumeManagers, held)
    await expect.poll(note).toContain('it is not on this hub yet')
    expect(await affinity(store)).toEqual(['member2'])
  })

  test('is free again when its pods name it no more', async () => {
    const store = await settled()
    const type = typeOf(workload.apiVersion, workload.kind)

    await store.patch(
      type,
      { namespace: 'default', name: 'app' },
      { spec: { template: { metadata: { annotations: null } } } },
    )

    await expect.poll(() => affinity(store)).toEqual(['member1', 'member2', 'member3'])
    expect((await read(store))?.metadata.annotations).not.toHaveProperty(['lodestone.dev/locality'])
  })
})

describe('a workload that was not read yet, while its binding was', () => {
  const serving = {
    ...makeCluster('member1'),
    status: {
      apiEnablements: [
        { groupVersion: 'vck.intelai.org/v1alpha1', resources: [{ name: 'volumemanagers', kind: 'VolumeManager' }] },
      ],
    },
  }

  test.each([
    { name: 'names volumes', object: workload, expected: ['member2'] },
    { name: 'names none', object: makeDeployment(), expected: ['member1', 'member2', 'member3'] },
  ])('is waited for where members have volumes, and then $name', async ({ object, expected }) => {
    const store = await storeOf([
      serving,
      makeCluster('member2'),
      makeCluster('member3'),
      manager,
      managerBinding('member2'),
    ])
    start(store)
    await create(store, binding)
    await expect.poll(() => isHeld(store)).toBe(true)

    await create(store, object)

    await expect.poll(() => isHeld(store)).toBe(false)
    expect(await affinity(store)).toEqual(expected)
  })

  test('is not waited for where no member has any, nor once it is scheduled', async () => {
    const decide = async (objects: K8sObject[], given: ResourceBinding) =>
      decideBinding(
        gatherBindingInput(given, undefined, { ...DEFAULT_DECISIONS, store: await storeOf(objects), now: NOW }),
      ).state

    expect(await decide([makeCluster('member1')], binding)).toBe('Untouched')
    expect(await decide([serving], makeBinding(SCHEDULED))).toBe('Untouched')
    expect(await decide([serving], binding)).toBe('OnHold')
  })
})

describe('a VolumeManager without a policy of its own', () => {
  test('is waited for a little: its policy may come', async () => {
    const store = await storeOf([manager, workload])
    const held = decideBinding(
      gatherBindingInput(binding, undefined, { ...DEFAULT_DECISIONS, store, now: NOW }),
    ).binding

    expect(held.spec.suspension).toEqual({ scheduling: true })
    const later = decideBinding(gatherBindingInput(held, held, { ...DEFAULT_DECISIONS, store, now: NOW + 10_000 }))
    expect(later.state).toBe('Released')
    expect(later.binding.spec).not.toHaveProperty('suspension')
  })

  test('goes where the workload goes, which is then left alone', async () => {
    const requiredBy = [{ namespace: 'default', name: 'app-deployment', ...SCHEDULED }]
    const { placement: _none, ...spec } = managerBinding().spec
    const attached: ResourceBinding = { ...managerBinding(), spec: { ...spec, requiredBy } }
    const store = await storeOf([manager, workload, attached])
    const released = JSON.stringify({
      message: 'm',
      reason: 'Unresolved',
      since: '2026-01-01T00:00:00Z',
      released: true,
    })
    const scheduled = makeBinding(
      { ...SCHEDULED, propagateDeps: true },
      { annotations: { 'lodestone.dev/hold': released } },
    )

    const { state, binding: decided } = decideBinding(
      gatherBindingInput(scheduled, scheduled, { ...DEFAULT_DECISIONS, store, now: NOW }),
    )

    expect(state).toBe('Restored')
    expect(decided.metadata.annotations).not.toHaveProperty(['lodestone.dev/hold'])
  })
})
