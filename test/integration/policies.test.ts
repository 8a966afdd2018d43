/** The loop of policies on a store in memory: claim, workload, policy and binding in any order, and policies that opt out. */
import { beforeEach, describe, expect, test } from 'vitest'
import { dataSourceClaims } from '../../src/api/data-source-claim.ts'
import {
  CLUSTER_POLICY_NAME_ANNOTATION,
  clusterPropagationPolicies,
  type PropagationPolicy,
  type PropagationSpec,
  propagationPolicies,
  resourceBindings,
} from '../../src/api/karmada.ts'
import { type K8sObject, LAST_APPLIED_ANNOTATION, nameOfObject, type ObjectMeta } from '../../src/api/meta.ts'
import { karmadaDependedByLabel } from '../../src/core/dependencies/names.ts'
import type { PropagateDepsMode } from '../../src/core/propagation-policy/decide.ts'
import { DEFAULT_TIMING } from '../../src/core/resource-binding/timing.ts'
import { openPropagationPolicyLoop } from '../../src/reconcile/bindings/propagation-policy.ts'
import type { Controller } from '../../src/reconcile/controller.ts'
import type { FolderStore } from '../../src/store/folder/folder.ts'
import { cachedKinds, placementKinds } from '../../src/store/kinds/cached-kinds.ts'
import { makeBinding, makeClaim, makeDeployment, makePolicy } from '../builders.ts'
import { storeOf, typeOf } from '../stores.ts'
import { runLoops } from './controller.ts'

const deployments = typeOf('apps/v1', 'Deployment')

let store: FolderStore
let controller: Controller
/** Every write of a policy, as it was then. */
let written: PropagationPolicy[]

async function open(kinds = cachedKinds) {
  store = await storeOf([], kinds)
  written = []
  store.subscribe(({ type, before, after }) => {
    if (before && type.kind.endsWith('PropagationPolicy')) written.push(after as PropagationPolicy)
  })
}

beforeEach(() => open())

function start(mode: PropagateDepsMode = 'dataBound', timing = DEFAULT_TIMING) {
  controller = runLoops({ store, loops: [openPropagationPolicyLoop(mode)], timing })
}

const all = { apiVersion: 'apps/v1', kind: 'Deployment' }
const core = { ...all, labelSelector: { matchLabels: { tier: 'core' } } }
const claim = () => store.create(dataSourceClaims, makeClaim())
const workload = (volumes?: string[]) =>
  store.create(deployments, makeDeployment({ labels: { tier: 'core' } }, volumes))
const binding = (annotations = {}) => store.create(resourceBindings, makeBinding({}, { annotations }))
const policy = (spec: Partial<PropagationSpec> = {}, metadata: ObjectMeta = {}) =>
  store.create(propagationPolicies, makePolicy(spec, metadata))
const clusterPolicy = (spec: Partial<PropagationSpec> = {}) =>
  store.create(clusterPropagationPolicies, {
    ...makePolicy(spec),
    kind: 'ClusterPropagationPolicy',
    metadata: { name: 'app' },
  })
const propagates = async () =>
  (await store.read<PropagationPolicy>(propagationPolicies, 'default', 'app'))?.spec.propagateDeps
/** Sets `propagateDeps` by a claim, deletes the claim, and expects that the field stays. */
async function staysWithoutClaim() {
  await policy()
  const stored = await claim()
  await expect.poll(propagates).toBe(true)

  await store.delete(dataSourceClaims, stored)
  await settle()

  expect(await propagates()).toBe(true)
  expect(written.length).toBe(1)
}
const clusterPropagates = async () =>
  (await store.read<PropagationPolicy>(clusterPropagationPolicies, undefined, 'app'))?.spec.propagateDeps
const events = () =>
  store
    .objects()
    .map(({ object }) => object as K8sObject & { reason?: string; message?: string; involvedObject?: unknown })
    .filter(({ kind }) => kind === 'Event')

/** Resolves when everything that was written so far was looked at: the loop sets the marker last. */
async function settle() {
  const selector = { ...all, name: 'marker' }
  await store.create(dataSourceClaims, makeClaim({ workload: selector }, { name: 'marker' }))
  await store.create(propagationPolicies, makePolicy({ resourceSelectors: [selector] }, { name: 'marker' }))
  const marker = async () =>
    (await store.read<PropagationPolicy>(propagationPolicies, 'default', 'marker'))?.spec.propagateDeps
  await expect.poll(marker).toBe(true)
  await expect.poll(() => controller.queueStates().every(({ depth }) => depth === 0)).toBe(true)
  written = written.filter(({ metadata }) => metadata.name !== 'marker')
}

type Step = () => Promise<unknown>

/** Every order of the steps. */
function ordersOf<T>(steps: readonly T[]): T[][] {
  if (steps.length < 2) return [[...steps]]
  return steps.flatMap((step, i) => ordersOf(steps.filter((_, j) => j !== i)).map((rest) => [step, ...rest]))
}

function orders(steps: Record<string, Step>): { name: string; steps: Step[] }[] {
  return ordersOf(Object.entries(steps)).map((order) => ({
    name: order.map(([name]) => name).join(', '),
    steps: order.map(([, step]) => step),
  }))
}

/** Tests that whatever step comes first, the policy propagates in the end. */
function inEveryOrder(steps: Record<string, Step>, seen = propagates) {
  test.each(orders(steps))('$name', async ({ steps }) => {
    start()
    for (const step of steps) await step()

    await expect.poll(seen).toBe(true)
  })
}

describe('a policy propagates dependencies, whatever comes first', () => {
  describe('for a workload that it names', () => {
    inEveryOrder({ claim, policy })
  })

  describe('for all of a kind, cluster-wide', () => {
    inEveryOrder({ claim, policy: () => clusterPolicy({ resourceSelectors: [all] }) }, clusterPropagates)
  })

  describe('by labels of a workload that is cached', () => {
    inEveryOrder({ claim, workload, policy: () => policy({ resourceSelectors: [core] }) })
  })

  describe('by labels of a workload that is not cached, as its binding tells', () => {
    beforeEach(() => open(placementKinds))

    inEveryOrder({ claim, binding, policy: () => policy({ resourceSelectors: [core] }) })
  })

  describe('cluster-wide by unknown labels, as the binding tells', () => {
    const named = () => binding({ [CLUSTER_POLICY_NAME_ANNOTATION]: 'app' })
    const unnamed = async () => {
      const { metadata, ...rest } = makeBinding()
      const annotations = { [CLUSTER_POLICY_NAME_ANNOTATION]: 'app' }
      await store.create(resourceBindings, { ...rest, metadata: { ...metadata, annotations } })
    }
    inEveryOrder(
      { claim, binding: unnamed, policy: () => clusterPolicy({ resourceSelectors: [core] }) },
      clusterPropagates,
    )

    test('a PropagationPolicy that the binding names as well comes first', async () => {
      start()
      await claim()
      await clusterPolicy({ resourceSelectors: [core] })
      await named()
      await settle()

      expect(await clusterPropagates()).toBeUndefined()
    })
  })

  describe('for a workload that names volumes', () => {
    inEveryOrder({ workload: () => workload(['data']), policy: () => policy({ resourceSelectors: [core] }) })
  })

  test('for what was there before the loop', async () => {
    await policy()
    await claim()
    start()

    await expect.poll(propagates).toBe(true)
  })

  test('when a workload gets the labels that a policy asks for', async () => {
    start()
    await claim()
    await policy({ resourceSelectors: [{ ...all, labelSelector: { matchLabels: { tier: 'edge' } } }] })
    const stored = await workload()
    await settle()
    expect(await propagates()).toBeUndefined()

    await store.update(deployments, { ...stored, metadata: { ...stored.metadata, labels: { tier: 'edge' } } })

    await expect.poll(propagates).toBe(true)
  })

  test('when a claim is changed to name the workload', async () => {
    start()
    await policy()
    const stored = await store.create(dataSourceClaims, makeClaim({ workload: { ...all, name: 'other' } }))
    await settle()
    expect(await propagates()).toBeUndefined()

    await store.update(dataSourceClaims, { ...stored, spec: makeClaim().spec })

    await expect.poll(propagates).toBe(true)
  })
})

test('the policy gets one Event about it, and none of its other fields changes', async () => {
  start()
  const before = await policy({ priority: 3 }, { labels: { mine: 'yes' } })
  await claim()
  await expect.poll(propagates).toBe(true)
  await settle()

  const after = await store.read<PropagationPolicy>(propagationPolicies, 'default', 'app')
  const { resourceVersion: _version, generation: _generation, ...metadata } = after?.metadata ?? {}
  expect({ ...after, metadata }).toEqual({
    ...before,
    metadata: { ...metadata, labels: { mine: 'yes' }, annotations: { 'lodestone.dev/propagate-deps-set': 'true' } },
    spec: { ...before.spec, propagateDeps: true },
  })
  const told = () => events().filter(({ involvedObject }) => (involvedObject as { name: string }).name === 'app')
  await expect.poll(() => told().length).toBe(1)
  expect(told()[0]).toMatchObject({
    type: 'Normal',
    reason: 'PropagateDepsSet',
    message: 'propagateDeps set: DataSourceClaim default/sales names Deployment default/app',
    involvedObject: { kind: 'PropagationPolicy', namespace: 'default', uid: before.metadata.uid },
  })
})

describe('a policy is left alone', () => {
  const NO = { 'lodestone.dev/propagate-deps': 'false' }
  const applied = { [LAST_APPLIED_ANNOTATION]: '{"spec":{"propagateDeps":false}}' }

  test.each<{ name: string; spec?: Partial<PropagationSpec>; annotations?: Record<string, string> }>([
    { name: 'that is annotated', annotations: NO },
    { name: 'that says false', spec: { propagateDeps: false } },
    { name: 'whose manifest said false before Karmada dropped it', annotations: applied },
    { name: 'that selects another workload', spec: { resourceSelectors: [{ ...all, name: 'other' }] } },
    { name: 'that propagates already', spec: { propagateDeps: true } },
  ])('$name', async ({ spec, annotations = {} }) => {
    start()
    await policy(spec, { annotations })
    await claim()
    await binding()
    await settle()

    expect(written).toEqual([])
  })

  test('when the mode is never', async () => {
    start('never')
    await policy()
    await claim()
    await binding()
    await expect.poll(() => controller.queueStates().every(({ depth }) => depth === 0)).toBe(true)
    await controller.stop()

    expect(written).toEqual([])
  })

  test('when the claim goes, until the release delay is over', async () => {
    start()
    await staysWithoutClaim()
  })

  test('after a restart', async () => {
    start()
    await policy()
    await claim()
    await expect.poll(propagates).toBe(true)
    await controller.stop()
    written = []

    start()
    await settle()

    expect(written).toEqual([])
  })
})

describe('propagateDeps that the loop set is removed', () => {
  const AT_ONCE = { ...DEFAULT_TIMING, releaseDelayMs: 0 }

  test('with the last claim, with an Event', async () => {
    start('dataBound', AT_ONCE)
    await policy()
    const stored = await claim()
    await expect.poll(propagates).toBe(true)

    await store.delete(dataSourceClaims, stored)

    await expect.poll(propagates).toBeUndefined()
    await settle()
    expect(await propagates()).toBeUndefined()
    const reasons = () => events().map(({ reason }) => reason)
    await expect.poll(reasons).toContain('PropagateDepsUnset')
    expect(written.at(-1)?.metadata.annotations ?? {}).toEqual({})
  })

  test('with the last workload with volumes', async () => {
    start('dataBound', AT_ONCE)
    await clusterPolicy()
    const stored = await workload(['mnist'])
    await expect.poll(clusterPropagates).toBe(true)

    await store.delete(deployments, stored)

    await expect.poll(clusterPropagates).toBeUndefined()
  })

  test('when the policy selects another workload', async () => {
    start('dataBound', AT_ONCE)
    await policy()
    await claim()
    await expect.poll(propagates).toBe(true)

    const name = { namespace: 'default', name: 'app' }
    await store.patch(propagationPolicies, name, { spec: { resourceSelectors: [{ ...all, name: 'other' }] } })

    await expect.poll(propagates).toBeUndefined()
  })

  test('when the mode is never', async () => {
    start()
    await policy()
    await claim()
    await expect.poll(propagates).toBe(true)
    await controller.stop()

    start('never', AT_ONCE)

    await expect.poll(propagates).toBeUndefined()
  })

  test('but not while a PersistentVolumeClaim follows its workload', async () => {
    const running = makeBinding({ propagateDeps: true, clusters: [{ name: 'member1', replicas: 2 }] })
    const resource = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace: 'default', name: 'disk' }
    const referrer = nameOfObject(running)
    const labels = { [karmadaDependedByLabel(referrer)]: 'id' }
    const { placement: _, ...attached } = makeBinding({ resource, requiredBy: [referrer] }).spec
    start('dataBound', AT_ONCE)
    await store.create(resourceBindings, running)
    const disk = makeBinding({}, { name: 'disk-persistentvolumeclaim', labels })
    await store.create(resourceBindings, { ...disk, spec: attached })
    await staysWithoutClaim()
  })

  test('but not while another claim is a reason for it', async () => {
    start('dataBound', AT_ONCE)
    await policy()
    const stored = await claim()
    await store.create(dataSourceClaims, makeClaim({}, { name: 'second' }))
    await expect.poll(propagates).toBe(true)

    await store.delete(dataSourceClaims, stored)
    await settle()

    expect(await propagates()).toBe(true)
  })

  test('but not if the user set it', async () => {
    start('dataBound', AT_ONCE)
    await policy({ propagateDeps: true })
    const stored = await claim()
    await store.delete(dataSourceClaims, stored)
    await settle()

    expect(await propagates()).toBe(true)
  })
})

test('in mode always every policy propagates, but for those that decline', async () => {
  start('always')
  await policy()
  await clusterPolicy()
  await policy({}, { name: 'declined', annotations: { 'lodestone.dev/propagate-deps': 'false' } })

  await expect.poll(propagates).toBe(true)
  await expect.poll(clusterPropagates).toBe(true)
  await settle()
  expect(written.map(({ metadata }) => metadata.name)).toEqual(['app', 'app'])
})

test('a policy without the annotation any more gets the default', async () => {
  start()
  await claim()
  const stored = await policy({}, { annotations: { 'lodestone.dev/propagate-deps': 'false' } })
  await settle()
  expect(await propagates()).toBeUndefined()

  await store.update(propagationPolicies, { ...stored, metadata: { ...stored.metadata, annotations: {} } })

  await expect.poll(propagates).toBe(true)
})
