import { describe, expect, test } from 'vitest'
import { bind, loop, one, runsIn, three, write } from '../../../../test/binding-writes.ts'
import { located, makeBinding, makeInput, NOW } from '../../../../test/builders.ts'
import { readDecision } from '../annotations.ts'
import { planBinding, requeueAfter } from '../plan.ts'
import { isOrphaned } from './orphaned.ts'

const OWNER = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'app', uid: 'b' }

test.each([
  {
    name: 'a binding with its owner',
    metadata: { uid: 'a', ownerReferences: [{ ...OWNER, controller: true }] },
    is: false,
  },
  { name: 'a binding whose object was deleted without it', metadata: { uid: 'a' }, is: true },
  {
    name: 'a binding with its owner and another one',
    metadata: {
      uid: 'a',
      ownerReferences: [
        { ...OWNER, kind: 'Team' },
        { ...OWNER, controller: true },
      ],
    },
    is: false,
  },
  { name: 'a binding with another owner alone', metadata: { uid: 'a', ownerReferences: [OWNER] }, is: true },
  { name: 'a binding that is not stored', metadata: {}, is: false },
])('$name is orphaned: $is', ({ metadata, is }) => {
  expect(isOrphaned(makeBinding({}, metadata))).toBe(is)
})

test('a binding that no policy has written is not orphaned', () => {
  const binding = makeBinding({}, { uid: 'a' })
  expect(isOrphaned({ ...binding, metadata: { name: 'app-deployment', uid: 'a' } })).toBe(false)
})

describe('a running workload whose object was deleted without its binding', () => {
  const isGone = { isOrphaned: true }
  const message =
    'Deployment app was deleted without its binding, so Karmada cannot create it in other clusters; create it again, or delete the binding'
  const narrowed = loop(bind(runsIn('m1')), [located(['m1'])]).binding
  const excluding = { policy: { placement: one('m2'), lazy: false, requiresClaim: false } }

  test.each([
    { name: 'its data moves', claims: [located(['m3'])], more: {} },
    { name: 'its policy excludes its cluster', claims: [located(['m1'])], more: excluding },
    { name: 'its last claim is deleted', claims: [], more: {} },
    { name: 'its last claim is deleted, and its policy excludes its cluster', claims: [], more: excluding },
  ])('stays when $name, and its claims say why', ({ claims, more }) => {
    const decided = loop(narrowed, claims, { ...more, ...isGone })
    expect(decided).toMatchObject({ state: 'Kept', message, names: ['m1'] })
    expect(readDecision(decided.binding.metadata.annotations).locality).toMatchObject({
      state: 'Kept',
      message,
      claims: claims.map(({ claim }) => claim),
    })
    const again = { binding: decided.binding, stored: decided.binding, claims, ...more, ...isGone }
    expect(loop(decided.binding, claims, { ...more, ...isGone }).binding).toBe(decided.binding)
    expect(write(decided.binding, {}, { claims, ...more, ...isGone }).binding).toEqual(decided.binding)
    expect(planBinding(makeInput(again))).toEqual({ actions: [], moves: false })
    expect(requeueAfter(decided.binding, makeInput(again))).toBeUndefined()
  })

  test('stays when it gets its first claim', () => {
    const decided = loop(bind(runsIn('m1')), [located(['m3'])], isGone)
    expect(decided).toMatchObject({ state: 'Kept', message, names: ['m1', 'm2', 'm3'] })
  })

  test('stays relaxed, and does not return to its data', () => {
    const { clusters: _clusters, ...spec } = narrowed.spec
    const evicted = { ...narrowed, spec: { ...spec, gracefulEvictionTasks: [{ fromCluster: 'm1' }] } }
    const relaxed = loop(evicted, [located(['m1'])]).binding
    const { gracefulEvictionTasks: _tasks, ...ended } = relaxed.spec
    const away = { ...relaxed, spec: { ...ended, ...runsIn('m2') } }
    const later = { now: NOW + 100 * 86_400_000, ...isGone }
    expect(loop(away, [located(['m1'])], later)).toMatchObject({ state: 'Relaxed', message, names: ['m1', 'm2', 'm3'] })
  })

  test('stays with its data if a write without the owner allows all clusters', () => {
    const written = write(narrowed, { placement: one('m1', 'm2', 'm3') }, { claims: [located(['m1'])], ...isGone })
    expect(written.binding.spec.placement).toEqual(one('m1'))
  })

  test('gets the same answer if the API server sends that to a wider write again', () => {
    const stored = bind({ ...runsIn('m1'), placement: one('m1') })
    const input = { claims: [located(['m1'])], stored, ...isGone }
    const first = write(stored, { placement: three }, input)
    expect(first.binding.spec.placement).toEqual(one('m1'))
    expect(write(first.binding, {}, input).binding).toEqual(first.binding)
  })

  test('follows its data when it is created again', () => {
    const kept = loop(narrowed, [located(['m3'])], isGone).binding
    expect(loop(kept, [located(['m3'])])).toMatchObject({ state: 'Narrowed', names: ['m3'] })
  })

  test('is narrowed if it runs nowhere', () => {
    expect(loop(bind({}), [located(['m3'])], isGone)).toMatchObject({ state: 'Narrowed', names: ['m3'] })
  })
})

test.each([
  { name: 'moves a workload', claims: [located(['m3'])], more: {}, want: true },
  {
    name: 'relaxes a workload whose policy excludes its cluster',
    claims: [located(['m1'])],
    more: { policy: { placement: one('m2'), lazy: false, requiresClaim: false } },
    want: true,
  },
  { name: 'allows more clusters', claims: [located(['m1', 'm3'])], more: {}, want: undefined },
])('a plan that $name needs the owner of the binding: $want', ({ claims, more, want }) => {
  const binding = loop(bind(runsIn('m1')), [located(['m1'])]).binding
  const plan = planBinding(makeInput({ binding, stored: binding, claims, ...more }))
  expect([plan.actions.length > 0, plan.needsOwner]).toEqual([true, want])
})
