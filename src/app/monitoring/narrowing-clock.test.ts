import { expect, onTestFinished, test } from 'vitest'
import { DEFAULT_DECISIONS, makeBinding, makeClaim, makeCluster, makeSource, NOW } from '../../../test/builders.ts'
import { storeOf } from '../../../test/stores.ts'
import { dataSourceClaims } from '../../api/data-source-claim.ts'
import { type ResourceBinding, resourceBindings } from '../../api/karmada.ts'
import { HOLD_ANNOTATION, LOCALITY_ANNOTATION } from '../../api/lodestone.ts'
import type { K8sObject } from '../../api/meta.ts'
import { TestClock } from '../../base/time/clock.fake.ts'
import { startNarrowingClock } from './narrowing-clock.ts'

const NARROWED = { state: 'Narrowed', message: 'm', claims: ['default/sales'], required: ['member2'] }
const HOLD = { reason: 'Unsatisfiable', message: 'm', since: '2026-01-01T00:00:00Z' }

const clusters = ['member1', 'member2', 'member3'].map((name) => makeCluster(name))
const withNote = (key: string, value: object) => makeBinding({}, { annotations: { [key]: JSON.stringify(value) } })

async function open(objects: K8sObject[]) {
  const store = await storeOf([...clusters, ...objects])
  const clock = new TestClock()
  const seen: number[] = []
  const observe = (seconds: number) => void seen.push(seconds)
  const stop = startNarrowingClock({
    ...DEFAULT_DECISIONS,
    store,
    karmadaRules: () => undefined,
    now: () => NOW,
    observe,
    clock,
  })
  onTestFinished(stop)
  async function replace(next: ResourceBinding) {
    const [stored] = store.list(resourceBindings)
    const { resourceVersion } = stored?.metadata ?? {}
    await store.update(resourceBindings, {
      ...next,
      metadata: { ...next.metadata, resourceVersion },
    } as ResourceBinding)
  }
  return { store, clock, seen, replace }
}

test('a claim for a stored binding is measured until the binding is narrowed', async () => {
  const { store, clock, seen, replace } = await open([makeSource(), makeBinding()])

  await store.create(dataSourceClaims, makeClaim())
  clock.advance(1500)
  await replace(withNote(LOCALITY_ANNOTATION, NARROWED))
  clock.advance(120_000)

  expect(seen).toEqual([1.5])
})

test('a binding that admission narrowed did not wait', async () => {
  const { store, seen } = await open([makeSource(), makeClaim()])

  await store.create(resourceBindings, withNote(LOCALITY_ANNOTATION, NARROWED))

  expect(seen).toEqual([0])
})

test('a binding that is never narrowed counts once, with the longest time', async () => {
  const { store, clock, seen } = await open([makeSource(), makeBinding()])

  await store.create(dataSourceClaims, makeClaim())
  clock.advance(300_000)

  expect(seen).toEqual([60])
})

test.each([
  { name: 'whose location is not known', objects: [makeBinding()], claim: makeClaim() },
  {
    name: 'for which the decision is to change nothing',
    objects: [makeSource({ locality: { clusterNames: ['member9'] } }), makeBinding()],
    claim: makeClaim({ policy: { onUnsatisfiable: 'Ignore' } }),
  },
  { name: 'of another workload', objects: [makeSource()], claim: makeClaim() },
])('a claim $name is not measured', async ({ objects, claim }) => {
  const { store, clock, seen } = await open(objects)

  await store.create(dataSourceClaims, claim)
  clock.advance(300_000)

  expect(seen).toEqual([])
})

test.each([
  { name: 'is put on hold', end: 'hold' },
  { name: 'is deleted', end: 'binding' },
  { name: 'loses its claim', end: 'claim' },
])('the wait of a binding that $name does not count', async ({ end }) => {
  const { store, clock, seen, replace } = await open([makeSource(), makeBinding()])
  const claim = await store.create(dataSourceClaims, makeClaim())

  if (end === 'hold') await replace(withNote(HOLD_ANNOTATION, HOLD))
  if (end === 'claim') await store.delete(dataSourceClaims, claim)
  const [binding] = store.list(resourceBindings)
  if (end === 'binding' && binding) await store.delete(resourceBindings, binding)
  clock.advance(300_000)

  expect(seen).toEqual([])
})
