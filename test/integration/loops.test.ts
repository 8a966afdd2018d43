/** The loops on a store in memory with a configurable data system: from claims to bindings, in any order. */
import { beforeEach, describe, expect, test } from 'vitest'
import { dataSources } from '../../src/api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims } from '../../src/api/data-source-claim.ts'
import { propagationPolicies, type ResourceBinding, resourceBindings } from '../../src/api/karmada.ts'
import { HOLD_ANNOTATION } from '../../src/api/lodestone.ts'
import type { K8sObject } from '../../src/api/meta.ts'
import { HONOR_MS } from '../../src/core/data-source-claim/honored.ts'
import { decideBinding } from '../../src/core/resource-binding/decide.ts'
import { type LocalityAnswer, LocalityError, type System, type Systems } from '../../src/locality/locality.ts'
import { gatherBindingInput } from '../../src/queries/binding.ts'
import type { Controller } from '../../src/reconcile/controller.ts'
import { openLoops } from '../../src/reconcile/index.ts'
import type { FolderStore } from '../../src/store/folder/folder.ts'
import { ConflictError } from '../../src/store/store.ts'
import { DEFAULT_DECISIONS, makeBinding, makeClaim, makePolicy, makeSource, OWNED } from '../builders.ts'
import { storeOf } from '../stores.ts'
import { type RunInput, runLoops } from './controller.ts'
import { makeLake } from './lake.ts'

let store: FolderStore
let controller: Controller
/** What the data system answers, and how often it was asked. */
let answer: () => LocalityAnswer
let questions = 0

const lake = makeLake(
  async () => {
    questions++
    return answer()
  },
  { refreshIntervalMs: 100 },
)
const systems: Systems = { get: (name) => (name === 'amoro' ? lake : undefined), subscribe: () => () => undefined }

beforeEach(async () => {
  store = await storeOf()
  questions = 0
  systems.get = (name) => (name === 'amoro' ? lake : undefined)
  systems.subscribe = () => () => undefined
  answer = locatedIn('member2')
})

function locatedIn(...clusters: string[]): () => LocalityAnswer {
  return () => ({ kind: 'located', location: 's3://lake/sales', clusters, bytes: 42 })
}

function start(options: Pick<RunInput, 'maxMovesPerMinute' | 'now'> = {}) {
  controller = runLoops({
    store,
    loops: openLoops({ propagate: 'dataBound', distribution: 'builtin' }),
    systems,
    ...options,
  })
}

const claim = (spec = {}) => store.create(dataSourceClaims, makeClaim(spec))
const binding = (spec = {}, metadata = OWNED) => store.create(resourceBindings, makeBinding(spec, metadata))
const readClaim = () => store.read<DataSourceClaim>(dataSourceClaims, 'default', 'sales')
const readBinding = () => store.read<ResourceBinding>(resourceBindings, 'default', 'app-deployment')
const affinity = async () => (await readBinding())?.spec.placement?.clusterAffinity?.clusterNames
const sources = () => [...store.list(dataSources)]
const source = async () => store.read(dataSources, undefined, sources()[0]?.metadata.name ?? '')
const placed = async () => (await readClaim())?.status?.conditions?.find(({ type }) => type === 'WorkloadPlaced')
const orphaned = /was deleted without its binding/
const events = () =>
  store
    .objects()
    .map(({ object }) => object as K8sObject & { reason?: string })
    .filter(({ kind }) => kind === 'Event')

test('a claim gets a source, an answer and a phase, and its binding is narrowed', async () => {
  start()
  await binding()
  await claim()

  await expect.poll(affinity).toEqual(['member2'])
  await expect.poll(async () => (await readClaim())?.status?.phase).toBe('Bound')
  expect((await readClaim())?.status?.boundDataSource).toBe('amoro-table-lake.shop.sales')
  expect(await source()).toMatchObject({
    spec: { locality: { clusterNames: ['member2'], location: 's3://lake/sales', bytes: 42 } },
    status: { phase: 'Available', boundClaims: 1, claimRefs: [{ namespace: 'default', name: 'sales' }] },
  })
  await expect.poll(() => events().map(({ reason }) => reason)).toContain('LocalityNarrowed')
})

test('the hold of a workload has the answer of the data system or the missing key', async () => {
  const hold = async () => (await readBinding())?.metadata.annotations?.[HOLD_ANNOTATION]
  answer = () => ({ kind: 'nowhere', reason: 'table sales does not exist in catalog prod' })
  start()
  await binding()
  await claim()
  await expect.poll(hold).toContain('is Unavailable: table sales does not exist in catalog prod')

  answer = locatedIn()
  await expect.poll(hold).toContain('is in none of the clusters: no cluster for s3://lake/sales')

  answer = locatedIn('member2')
  await expect.poll(affinity).toEqual(['member2'])
  expect((await source())?.status?.conditions?.map(({ type }) => type)).not.toContain('Mapped')
})

test('a claim says that it has no effect while its workload lacks a placement', async () => {
  const effect = async () => (await conditions())?.find(({ type }) => type === 'Effective')?.reason
  start()
  await claim()
  await expect.poll(effect).toBe('NoBinding')

  const { placement, ...spec } = makeBinding().spec
  await store.create(resourceBindings, { ...makeBinding(), spec })
  await expect.poll(effect).toBe('AttachedDependency')

  await store.patch(resourceBindings, { namespace: 'default', name: 'app-deployment' }, { spec: { placement } })
  await expect.poll(effect).toBeUndefined()
  await expect.poll(affinity).toEqual(['member2'])
})

test('the query of a single claim is third at most, behind those of another namespace', async () => {
  const asked: string[] = []
  const gate = Promise.withResolvers<void>()
  const locate: System['plugin']['locate'] = async ({ name }) => {
    asked.push(name)
    await gate.promise
    return answer()
  }
  const slow = { ...lake, refreshIntervalMs: 600_000, maxConcurrent: 1, plugin: { ...lake.plugin, locate } }
  systems.get = () => slow
  start()
  const names = Array.from({ length: 300 }, (_, i) => `t${i}`)
  for (const name of names)
    await store.create(dataSourceClaims, makeClaim({ dataSourceName: name }, { name, namespace: 'a' }))
  await store.create(dataSourceClaims, makeClaim({ dataSourceName: 'single' }, { namespace: 'b' }))
  await expect.poll(() => controller.queueStates().find(({ loop }) => loop === 'data-source')?.depth).toBe(0)
  gate.resolve()

  await expect.poll(() => asked.length).toBe(301)
  expect(asked.indexOf('single')).toBeLessThanOrEqual(2)
})

test('fifty claims with one query are one source, queried once', async () => {
  answer = locatedIn('member1')
  const slow = { ...lake, refreshIntervalMs: 600_000 }
  systems.get = () => slow
  start()
  await Promise.all(
    Array.from({ length: 50 }, (_, i) => store.create(dataSourceClaims, makeClaim({}, { name: `c-${i}` }))),
  )

  await expect.poll(async () => (await source())?.status?.boundClaims).toBe(50)
  await expect.poll(() => [...store.list(dataSourceClaims)].every(({ status }) => status?.phase === 'Bound')).toBe(true)
  expect([sources().length, questions]).toEqual([1, 1])
})

describe('a move of the data', () => {
  const running = { clusters: [{ name: 'member2', replicas: 2 }] }

  test('moves a Deployment', async () => {
    start()
    await binding(running)
    await claim()
    await expect.poll(affinity).toEqual(['member2'])

    answer = locatedIn('member3')

    await expect.poll(affinity).toEqual(['member3'])
  })

  test('leaves a Deployment where it is that was deleted without its binding', async () => {
    start()
    await binding(running, { ownerReferences: [] })
    await claim()
    await expect.poll(affinity).toEqual(['member2'])

    answer = locatedIn('member3')

    await expect.poll(placed).toMatchObject({ reason: 'Kept', message: expect.stringMatching(orphaned) })
    const asked = questions
    await expect.poll(() => questions).toBeGreaterThan(asked + 2)
    expect(await affinity()).toEqual(['member2'])
  })

  test('leaves a deleted Deployment with a binding in a cluster that its policy excludes', async () => {
    const placement = { clusterAffinity: { clusterNames: ['member3'] } }
    await store.create(propagationPolicies, makePolicy({ placement }))
    start()
    await binding(running, { ownerReferences: [] })
    await claim()

    await expect.poll(placed).toMatchObject({ reason: 'Kept', message: expect.stringMatching(orphaned) })
    expect(await affinity()).toContain('member2')
  })

  test('leaves a Job where it is', async () => {
    const resource = { apiVersion: 'batch/v1', kind: 'Job', namespace: 'default', name: 'app' }
    start()
    await binding({ ...running, resource })
    await claim({ workload: { apiVersion: 'batch/v1', kind: 'Job', name: 'app' } })
    await expect.poll(affinity).toEqual(['member2'])

    answer = locatedIn('member3')

    await expect.poll(async () => (await source())?.spec.locality?.clusterNames).toEqual(['member3'])
    await expect
      .poll(async () => (await readBinding())?.metadata.annotations?.['lodestone.dev/locality'])
      .toContain('"Kept"')
    expect(await affinity()).toEqual(['member2'])
  })

  test('waits for its turn when as many as allowed were moved this minute', async () => {
    start({ maxMovesPerMinute: 1 })
    for (const name of ['one', 'two', 'three']) {
      const resource = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name }
      const metadata = { ...OWNED, name: `${name}-deployment` }
      await store.create(resourceBindings, makeBinding({ ...running, resource }, metadata))
      await store.create(
        dataSourceClaims,
        makeClaim({ workload: { apiVersion: 'apps/v1', kind: 'Deployment', name } }, { name }),
      )
    }
    const moved = () =>
      [...store.list(resourceBindings)].filter(
        ({ spec }) => spec.placement?.clusterAffinity?.clusterNames?.join() === 'member3',
      )
    await expect
      .poll(() =>
        [...store.list(resourceBindings)].every(
          ({ spec }) => spec.placement?.clusterAffinity?.clusterNames?.join() === 'member2',
        ),
      )
      .toBe(true)

    answer = locatedIn('member3')

    await expect.poll(() => moved().length).toBe(1)
    const asked = questions
    await expect.poll(() => questions).toBeGreaterThan(asked + 2)
    expect(moved().length).toBe(1)
  })
})

describe('an outage of the data system', () => {
  test('changes nothing but the condition Stale', async () => {
    start()
    await binding()
    await claim()
    await expect.poll(affinity).toEqual(['member2'])

    answer = () => {
      throw new LocalityError('unavailable', 'HTTP 503')
    }

    await expect.poll(async () => (await source())?.status?.lastError).toContain('HTTP 503')
    expect((await source())?.status).toMatchObject({ phase: 'Available' })
    expect(await affinity()).toEqual(['member2'])
    await expect.poll(async () => (await readClaim())?.status?.phase).toBe('Bound')
  })

  test('at creation holds the workload until the system is back', async () => {
    answer = () => {
      throw new LocalityError('unreachable', 'connection refused')
    }
    start()
    await binding()
    await claim()
    await expect.poll(async () => (await readBinding())?.spec.suspension?.scheduling).toBe(true)

    answer = locatedIn('member1')

    await expect.poll(affinity).toEqual(['member1'])
    expect((await readBinding())?.spec.suspension).toBeUndefined()
  })
})

test('a query that fails is sent again as retryConfig says, and the source created', async () => {
  const retry = { maxRetries: 2, initialBackoffMs: 20, maxBackoffMs: 20, backoffMultiplier: 1, timeoutMs: 1_000 }
  const patient = { ...lake, retry, refreshIntervalMs: 600_000 }
  systems.get = () => patient
  answer = () => {
    if (questions <= 2) throw new LocalityError('unavailable', 'HTTP 503')
    return locatedIn('member2')()
  }
  start()
  await claim()

  await expect.poll(async () => (await readClaim())?.status?.phase).toBe('Bound')
  await expect.poll(async () => (await source())?.status?.phase).toBe('Available')
  expect(questions).toBe(3)
  expect(events().map(({ reason }) => reason)).not.toContain('Stale')
})

test('a location is confirmed before it is too old; otherwise only new work waits', async () => {
  const slow = { ...lake, refreshIntervalMs: 600_000 }
  systems.get = () => slow
  start()
  await binding({ clusters: [{ name: 'member2', replicas: 2 }] })
  await claim({ policy: { maxStalenessSeconds: 1 } })
  await expect.poll(async () => (await readClaim())?.status?.phase).toBe('Bound')
  await expect.poll(() => questions).toBeGreaterThan(2)

  answer = () => {
    throw new LocalityError('unavailable', 'HTTP 503')
  }

  await expect.poll(async () => (await readClaim())?.status?.phase).toBe('Pending')
  expect(await affinity()).toEqual(['member2'])
})

test('"no such data" replaces a location after three times, and running work stays', async () => {
  start()
  await binding({ clusters: [{ name: 'member2', replicas: 2 }] })
  await claim()
  await expect.poll(affinity).toEqual(['member2'])

  const asked = questions
  answer = () => ({ kind: 'nowhere', reason: 'no such table' })

  await expect.poll(async () => (await source())?.status?.phase).toBe('Unavailable')
  expect(questions - asked).toBeGreaterThanOrEqual(3)
  await expect.poll(async () => (await readClaim())?.status?.phase).toBe('Failed')
  expect(await affinity()).toEqual(['member2'])
})

test('a deleted claim is removed after the base is back, and its source is updated', async () => {
  let aheadMs = 0
  start({ now: () => Date.now() + aheadMs })
  await binding()
  await claim()
  await expect.poll(affinity).toEqual(['member2'])
  await expect.poll(async () => (await readClaim())?.metadata.finalizers).toEqual(['lodestone.dev/claim'])

  aheadMs = HONOR_MS - 500
  await store.delete(dataSourceClaims, (await readClaim()) as DataSourceClaim)

  await expect.poll(affinity).toEqual(['member1', 'member2', 'member3'])
  await expect.poll(readClaim).toBeUndefined()
  await expect.poll(async () => (await source())?.status?.boundClaims).toBe(0)
  expect((await readBinding())?.metadata.annotations).not.toHaveProperty('lodestone.dev/locality')
})

test('a claim that is deleted shortly before its workload goes with it, without a move', async () => {
  start()
  await binding()
  await claim()
  await expect.poll(affinity).toEqual(['member2'])
  await expect.poll(async () => (await readClaim())?.status?.phase).toBe('Bound')
  const narrowed = (await readBinding()) as ResourceBinding

  await store.delete(dataSourceClaims, (await readClaim()) as DataSourceClaim)
  // Loops take keys in turn: when this one has its answer, the deletion has been looked at.
  await store.create(
    dataSourceClaims,
    makeClaim({ workload: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'other' } }, { name: 'other' }),
  )
  await expect
    .poll(async () => (await store.read<DataSourceClaim>(dataSourceClaims, 'default', 'other'))?.status?.phase)
    .toBe('Bound')
  expect(await readBinding()).toEqual(narrowed)
  expect(await readClaim()).toBeDefined()
  await store.delete(resourceBindings, narrowed)

  await expect.poll(readClaim).toBeUndefined()
  await expect.poll(async () => (await source())?.status?.boundClaims).toBe(1)
})

test('a system that is configured anew is asked at once', async () => {
  const slow = (): System => ({ ...lake, refreshIntervalMs: 600_000 })
  let configured = slow()
  let changed = (_names: readonly string[]) => {}
  systems.get = () => configured
  systems.subscribe = (listener) => {
    changed = listener
    return () => undefined
  }
  start()
  await binding()
  await claim()
  await expect.poll(affinity).toEqual(['member2'])

  answer = locatedIn('member3')
  configured = slow()
  changed(['amoro'])

  await expect.poll(affinity).toEqual(['member3'])
  expect(questions).toBe(2)
})

test('a claim that is edited asks anew and is bound anew, and the binding follows', async () => {
  start()
  await binding()
  await claim()
  await expect.poll(affinity).toEqual(['member2'])
  await expect.poll(async () => (await readClaim())?.status?.phase).toBe('Bound')
  answer = locatedIn('member3')

  const before = (await readClaim()) as DataSourceClaim
  await store.update(dataSourceClaims, { ...before, spec: { ...before.spec, dataSourceName: 'lake.shop.orders' } })

  await expect.poll(affinity).toEqual(['member3'])
  await expect.poll(async () => (await readClaim())?.status?.boundDataSource).toBe('amoro-table-lake.shop.orders')
  const claims = () => sources().map(({ metadata, status }) => [metadata.name, status?.boundClaims])
  await expect.poll(claims).toEqual([
    ['amoro-table-lake.shop.sales', 0],
    ['amoro-table-lake.shop.orders', 1],
  ])
})

test('a source that is deleted by hand is made again, and the claim is bound again', async () => {
  start()
  await claim()
  await expect.poll(async () => (await readClaim())?.status?.phase).toBe('Bound')
  const before = await source()

  await store.delete(dataSources, before as K8sObject)

  // Long enough for kubectl to see that it is gone.
  await expect.poll(source).toBeUndefined()
  await expect.poll(async () => (await source())?.metadata.uid).toBeDefined()
  expect((await source())?.metadata.uid).not.toBe(before?.metadata.uid)
  await expect.poll(async () => (await source())?.spec.locality?.clusterNames).toEqual(['member2'])
  await expect.poll(async () => (await readClaim())?.status?.phase).toBe('Bound')
})

test('a source that is deleted while its system is down goes when the system is back', async () => {
  start()
  await claim()
  await expect.poll(async () => (await readClaim())?.status?.phase).toBe('Bound')
  const before = await source()
  answer = () => {
    throw new LocalityError('unavailable', 'HTTP 503')
  }

  await store.delete(dataSources, before as K8sObject)

  const asked = questions
  await expect.poll(() => questions).toBeGreaterThan(asked)
  expect((await source())?.metadata.uid).toBe(before?.metadata.uid)
  expect((await readClaim())?.status?.phase).toBe('Bound')
  answer = locatedIn('member3')
  await expect.poll(async () => (await source())?.spec.locality?.clusterNames).toEqual(['member3'])
  expect((await source())?.metadata.uid).not.toBe(before?.metadata.uid)
})

test('a write that fails costs no second query', async () => {
  const create = store.create.bind(store)
  let failing = true
  store.create = async (type, object) => {
    if (failing && type.kind === dataSources.kind) throw new ConflictError('busy')
    return (await create(type, object)) as typeof object
  }
  const slow = { ...lake, refreshIntervalMs: 600_000 }
  systems.get = () => slow
  start()
  await claim()
  await expect.poll(() => questions).toBe(1)

  failing = false

  await expect.poll(async () => (await readClaim())?.status?.phase).toBe('Bound')
  expect(questions).toBe(1)
})

test('a policy that requires no claim any more releases the bindings on hold', async () => {
  const strict = makePolicy({}, { annotations: { 'lodestone.dev/requires-claim': 'true' } })
  const policy = await store.create(propagationPolicies, strict)
  const held = decideBinding(
    gatherBindingInput(makeBinding(), undefined, { ...DEFAULT_DECISIONS, store, now: Date.now() }),
  ).binding
  await store.create(resourceBindings, held)
  start()
  // When this claim is bound, the first look at everything is over.
  await claim({ workload: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'other' } })
  await expect.poll(async () => (await readClaim())?.status?.phase).toBe('Bound')
  expect((await readBinding())?.spec.suspension?.scheduling).toBe(true)

  await store.update(propagationPolicies, { ...policy, metadata: { ...policy.metadata, annotations: {} } })

  await expect.poll(async () => (await readBinding())?.spec.suspension).toBeUndefined()
})

test('a restart over settled claims and bindings writes nothing', async () => {
  const slow = { ...lake, refreshIntervalMs: 600_000 }
  systems.get = () => slow
  start()
  await binding()
  await claim()
  await expect.poll(affinity).toEqual(['member2'])
  await expect.poll(async () => (await readClaim())?.status?.phase).toBe('Bound')
  await expect.poll(async () => (await source())?.status?.boundClaims).toBe(1)
  await controller.stop()
  const writes: string[] = []
  store.subscribe(({ type, after }) => writes.push(`${type.kind} ${after?.metadata.name}`))

  start()
  await expect.poll(() => controller.queueStates().every(({ depth }) => depth === 0)).toBe(true)
  await controller.stop()

  expect(writes).toEqual([])
})

test('a hold that lasts longer than the claim allows is released, with an Event', async () => {
  answer = () => {
    throw new LocalityError('unreachable', 'connection refused')
  }
  start()
  await binding()
  await claim({ policy: { holdTimeoutSeconds: 1 } })
  await expect.poll(async () => (await readBinding())?.spec.suspension?.scheduling).toBe(true)

  await expect.poll(async () => (await readBinding())?.spec.suspension).toBeUndefined()
  await expect.poll(() => events().map(({ reason }) => reason)).toContain('LocalityHoldReleased')
  expect(await affinity()).toEqual(['member1', 'member2', 'member3'])
})

test('a hold that was not honored is a condition of the claim until the data is there', async () => {
  systems.get = () => undefined
  start()
  await binding()
  await claim()
  const suspended = async () => (await readBinding())?.spec.suspension?.scheduling
  await expect.poll(suspended).toBe(true)
  await expect.poll(async () => (await readClaim())?.status?.phase).toBe('Pending')
  await settle()
  const held = await readBinding()
  await schedule('member1', 'member3')
  const writes: string[] = []
  const unsubscribe = store.subscribe(({ type, before, after }) => before && after && writes.push(type.kind))

  start()
  await expect.poll(async () => (await readBinding())?.spec.clusters).toBeUndefined()
  await settle()

  expect(writes).toEqual(['DataSourceClaim', 'ResourceBinding'])
  unsubscribe()
  expect((await readBinding())?.spec).toEqual(held?.spec)
  expect(events().filter(({ reason }) => reason === 'LocalityHoldNotHonored')).toMatchObject([
    { involvedObject: { kind: 'ResourceBinding' } },
    { involvedObject: { kind: 'DataSourceClaim' } },
  ])
  expect(await conditions()).toMatchObject([
    { type: 'Bound', status: 'False' },
    {
      type: 'HoldNotHonored',
      status: 'True',
      reason: 'Restored',
      message: expect.stringMatching(/^scheduled to member1, member3 although it is on hold .*; the hold is restored$/),
    },
    { type: 'Ready', status: 'False' },
    { type: 'Resolved' },
    { type: 'WorkloadPlaced', status: 'False', reason: 'OnHold' },
  ])

  start()
  await store.create(dataSources, makeSource())
  await expect.poll(suspended).toBeUndefined()
  await expect.poll(async () => (await readClaim())?.status?.phase).toBe('Bound')
  expect((await conditions())?.map(({ type }) => type)).toContain('HoldNotHonored')

  await schedule('member2')
  await expect
    .poll(conditions)
    .toMatchObject([
      { type: 'Bound' },
      { type: 'Ready', status: 'True' },
      { type: 'Resolved' },
      { type: 'WorkloadPlaced', reason: 'Placed' },
    ])
})

/** Stops the loops when they have nothing to do. */
async function settle(): Promise<void> {
  await expect.poll(() => controller.queueStates().every(({ depth }) => depth === 0)).toBe(true)
  await controller.stop()
}

/** Writes the clusters as Karmada's scheduler does when admission is not called. */
async function schedule(...names: string[]): Promise<void> {
  const reference = { namespace: 'default', name: 'app-deployment' }
  await store.patch(resourceBindings, reference, { spec: { clusters: names.map((name) => ({ name })) } })
}

const conditions = async () => (await readClaim())?.status?.conditions
