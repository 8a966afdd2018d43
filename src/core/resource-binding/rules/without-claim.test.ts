import { describe, expect, test } from 'vitest'
import { bind, loop, one, runsIn, three, write } from '../../../../test/binding-writes.ts'
import { located, lookup, makePolicyInput, NOW, nowhere, unknown } from '../../../../test/builders.ts'
import type { Placement } from '../../../api/karmada.ts'
import { readAnnotations } from '../annotations.ts'
import { DEFAULT_TIMING } from '../timing.ts'

const DELAY = DEFAULT_TIMING.releaseDelayMs

describe('a scheduled workload that loses its last claim', () => {
  const claims = [located(['m2'])]
  const before = loop(bind(runsIn('m2')), claims).binding
  const waiting = loop(before, []).binding

  test('stays with its data for a while', () => {
    expect(loop(before, [])).toMatchObject({ state: 'Kept', names: ['m2'] })
    expect(readAnnotations(waiting.metadata.annotations).locality).toMatchObject({ claims: [], required: ['m2'] })
    expect(loop(waiting, [], { now: NOW + DELAY - 1 }).binding).toBe(waiting)
  })

  test('is released afterwards, by the loop alone', () => {
    expect(write(waiting, { placement: three }, { claims: [], now: NOW + 2 * DELAY }).binding.spec.placement).toEqual(
      one('m2'),
    )
    const released = loop(waiting, [], { now: NOW + DELAY })
    expect(released).toMatchObject({ state: 'Restored', names: ['m1', 'm2', 'm3'] })
    const admitted = write(waiting, {}, { binding: released.binding, claims: [], now: NOW + DELAY })
    expect(admitted.binding).toBe(released.binding)
  })

  test('is released by the loop also if it leaves one of its clusters at that time', () => {
    const kept = loop(loop(bind(runsIn('m2')), [located(['m2', 'm3'])]).binding, []).binding
    const evicted = { ...kept, spec: { ...kept.spec, clusters: [], gracefulEvictionTasks: [{ fromCluster: 'm2' }] } }
    const now = NOW + DELAY
    expect(write(kept, evicted.spec, { claims: [], now })).toMatchObject({ state: 'Kept' })
    const released = loop(evicted, [], { now })
    expect(released).toMatchObject({ state: 'Relaxed', names: ['m1', 'm2', 'm3'] })
    expect(write(evicted, {}, { binding: released.binding, claims: [], now }).binding).toBe(released.binding)
  })

  test('is released at once if its clusters cannot take it any more', () => {
    const evicted = { ...before, spec: { ...before.spec, clusters: [] } }
    const placed = { ...evicted, spec: { ...evicted.spec, gracefulEvictionTasks: [{ fromCluster: 'm2' }] } }
    const relaxed = loop(placed, [])
    expect(relaxed).toMatchObject({ state: 'Relaxed', names: ['m1', 'm2', 'm3'] })
    const replaced = { ...relaxed.binding, spec: { ...relaxed.binding.spec, clusters: [{ name: 'm1', replicas: 1 }] } }
    expect(loop(replaced, [])).toMatchObject({ state: 'Restored', names: ['m1', 'm2', 'm3'] })
  })

  test('is not on hold if it lost its cluster and gets a claim again before it runs', () => {
    const ran = loop(bind(runsIn('m2'), { lastScheduledTime: '2026-01-01T00:00:00Z' }), claims).binding
    const clusters = lookup('m1', 'm3')
    const released = loop({ ...ran, spec: { ...ran.spec, clusters: [] } }, [], { clusters })
    expect(released).toMatchObject({ state: 'Relaxed', names: ['m1', 'm2', 'm3'] })
    // A replica may not know yet that the cluster is gone.
    const inRelaxed = loop(ran, claims, { clusters }).binding
    for (const known of [clusters, lookup('m1', 'm2', 'm3')]) {
      expect(write(inRelaxed, runsIn(), { claims: [], clusters: known })).toMatchObject({ state: 'Relaxed' })
    }
    for (const again of [claims, [unknown()]]) {
      expect(loop(released.binding, again, { clusters })).toMatchObject({ state: 'Relaxed', names: ['m1', 'm2', 'm3'] })
    }
    expect(loop(ran, [], { clusters })).toMatchObject({ state: 'Relaxed', names: ['m1', 'm2', 'm3'] })
    const runsAgain = {
      ...released.binding,
      spec: { ...released.binding.spec, clusters: [{ name: 'm1', replicas: 1 }] },
    }
    expect(loop(runsAgain, [], { clusters })).toMatchObject({ state: 'Restored' })
  })

  test.each([
    { name: 'without a claim', left: [], state: 'Restored' },
    {
      name: 'if only preferred data is left, which is nowhere',
      left: [nowhere({ enforcement: 'Preferred' })],
      state: 'Ignored',
    },
  ])('is released $name so that the scheduler begins with the first group', ({ left, state }) => {
    const groups = [['m1'], ['m2']].map((clusterNames, i) => ({ affinityName: `g${i}`, clusterNames }))
    const narrowed = loop(bind({ ...runsIn('m2'), placement: { clusterAffinities: groups } }), claims).binding
    const evicting = {
      ...narrowed,
      spec: { ...narrowed.spec, clusters: [], gracefulEvictionTasks: [{ fromCluster: 'm2' }] },
      status: { schedulerObservingAffinityName: 'g1' },
    }
    const relaxed = loop(evicting, left)
    expect(relaxed.state).toBe('Relaxed')
    expect(relaxed.binding.spec.placement?.clusterAffinities?.map((group) => group.affinityName)).toEqual([
      'g0.1',
      'g1.1',
    ])
    const replaced = {
      ...relaxed.binding,
      spec: { ...relaxed.binding.spec, clusters: [{ name: 'm1', replicas: 1 }], gracefulEvictionTasks: [] },
      status: { schedulerObservingAffinityName: 'g0.1' },
    }
    expect(loop(replaced, left)).toMatchObject({ state })
  })

  test('waits, whatever an older replica observes, until the loop has sent the end', () => {
    const claim = located(['m2'], { claim: 'default/b' })
    const without = { ...before, metadata: { ...before.metadata, annotations: {} } }
    const ended = loop(waiting, [claim], { now: NOW + DELAY }).binding
    expect(write(before, {}, { binding: ended, claims: [claim] }).binding).toBe(ended)
    expect(write(before, {}, { binding: loop(before, [unknown()]).binding, claims: [] }).state).toBe('Kept')
    expect(write(before, {}, { binding: without, claims: [] }).state).toBe('Restored')
  })

  test.each([
    { name: 'runs', spec: runsIn('m2') },
    { name: 'has not run yet', spec: {} },
  ])('of a replica with an older policy keeps the base for the loop if it $name', ({ spec }) => {
    const stored = loop(bind(spec), claims).binding
    const policy = (placement: Placement) => makePolicyInput({ placement })
    const without = { ...stored, metadata: { ...stored.metadata, annotations: {} } }
    const restored = write(stored, {}, { binding: without, claims: [], policy: policy(three) })
    expect(restored).toMatchObject({ state: 'Restored', binding: { spec: { placement: three } } })
    // The same answer to a second call for the request, and to the scheduler.
    const again = { binding: restored.binding, claims: [], policy: policy(three) }
    for (const old of [stored, restored.binding]) expect(write(old, {}, again).binding).toBe(restored.binding)
    const corrected = loop(restored.binding, [], { policy: policy(one('m2')) })
    expect(corrected.names).toEqual(['m2'])
    expect(readAnnotations(corrected.binding.metadata.annotations)).toEqual({})
    const admitted = write(restored.binding, {}, { ...again, binding: corrected.binding })
    expect(admitted.binding).toBe(corrected.binding)
  })

  test('waits again after the CRD of claims was gone, and no loop ends the wait', () => {
    const missing = { claimsUnknown: 'the CRD is gone', now: NOW + DELAY }
    const kept = loop(waiting, [], missing)
    expect(kept).toMatchObject({ state: 'Kept', names: ['m2'], message: 'the CRD is gone' })
    expect(write(waiting, {}, { binding: kept.binding, claims: [], now: NOW + DELAY })).toMatchObject({ state: 'Kept' })
    const back = loop(kept.binding, [], { now: NOW + 2 * DELAY })
    expect(back).toMatchObject({ state: 'Kept', names: ['m2'] })
    expect(loop(back.binding, [], { now: NOW + 3 * DELAY })).toMatchObject({ state: 'Restored' })
  })

  test('does not leave its data by a jump of the clock', () => {
    const byMs = 365 * 86_400_000
    const jumps = [{ to: NOW + byMs, byMs }]
    expect(loop(waiting, [], { jumps, now: NOW + byMs + DELAY - 1 }).state).toBe('Kept')
    expect(loop(waiting, [], { jumps, now: NOW + byMs + DELAY }).state).toBe('Restored')
  })

  test('waits with the same words at admission and in a loop with other waiting times', () => {
    const timing = { failbackWindowMs: 1000, releaseDelayMs: 5000 }
    const byLoop = loop(before, [], { timing }).binding
    expect(write(byLoop, {}, { claims: [] }).binding).toEqual(byLoop)
    expect(loop(byLoop, [], { timing, now: NOW + 1 }).binding).toBe(byLoop)
  })

  test('stays for good if a claim is created again', () => {
    const again = loop(waiting, claims, { now: NOW + DELAY - 1 })
    expect(again).toMatchObject({ state: 'Narrowed', names: ['m2'] })
    expect(readAnnotations(again.binding.metadata.annotations).locality?.since).toBeUndefined()
    // A later loss begins a new wait.
    const lost = loop(again.binding, [], { now: NOW + 10 * DELAY })
    expect(lost.state).toBe('Kept')
  })

  test('waits anew for each claim that is gone, since each of them may be created again', () => {
    const both = [located(['m2']), nowhere({ claim: 'default/b', enforcement: 'Preferred' })]
    const first = loop(loop(bind(runsIn('m2')), both).binding, both.slice(1)).binding
    const now = NOW + DELAY - 1
    const second = loop(first, [], { now })
    expect(second).toMatchObject({ state: 'Kept', names: ['m2'] })
    expect(loop(second.binding, [], { now: now + DELAY - 1 }).binding).toBe(second.binding)
    expect(loop(second.binding, [], { now: now + DELAY })).toMatchObject({ state: 'Restored' })
    // The loop looked at it again late: the first wait would be over.
    expect(loop(first, [], { now: NOW + 2 * DELAY })).toMatchObject({ state: 'Kept', names: ['m2'] })
  })

  test('waits too if one of several claims is gone, and continues if it is created again', () => {
    const both = [located(['m2']), located(['m2', 'm3'], { claim: 'default/b' })]
    const rest = both.slice(1)
    const narrowed = loop(bind(runsIn('m2')), both).binding
    const kept = loop(narrowed, rest)
    expect(kept).toMatchObject({ state: 'Kept', names: ['m2'] })
    expect(readAnnotations(kept.binding.metadata.annotations).locality?.claims).toEqual(['default/b'])
    expect(loop(kept.binding, rest, { now: NOW + DELAY - 1 }).binding).toBe(kept.binding)
    expect(loop(kept.binding, both, { now: NOW + DELAY - 1 })).toMatchObject({ state: 'Narrowed', names: ['m2'] })
    const released = loop(kept.binding, rest, { now: NOW + DELAY })
    expect(released).toMatchObject({ state: 'Narrowed', names: ['m2', 'm3'] })
    const admitted = write(kept.binding, {}, { binding: released.binding, claims: rest, now: NOW + DELAY })
    expect(admitted.binding).toBe(released.binding)
  })

  test('waits for one of several claims that is gone until the loop ends the wait', () => {
    const b = located(['m2', 'm3'], { claim: 'default/b' })
    const narrowed = loop(bind(runsIn('m2')), [...claims, b]).binding
    const rest = { claims: [b] }
    const kept = loop(narrowed, rest.claims).binding
    expect(write(kept, { placement: three }, rest)).toMatchObject({ state: 'Kept', binding: kept })
    expect(write(narrowed, {}, { binding: kept, ...rest }).binding).toBe(kept)
    // A replica that does not know the new claim yet does not end the wait for it.
    const replaced = loop(narrowed, [b, located(['m2', 'm3'], { claim: 'default/c' })]).binding
    expect(write(narrowed, {}, { binding: replaced, ...rest }).state).toBe('Kept')
  })

  test('does not wait if it cannot stay, and follows the other claims', () => {
    const both = [located(['m2']), located(['m2', 'm3'], { claim: 'default/b' })]
    const narrowed = loop(bind(runsIn('m2')), both).binding
    const clusters = lookup('m1', 'm3')
    expect(loop(narrowed, both.slice(1), { clusters })).toMatchObject({ state: 'Narrowed', names: ['m3'] })
  })

  test('does not wait if preferred data moves while it waits to return', () => {
    const prefers = (...names: string[]) => [located(names, { enforcement: 'Preferred' })]
    const placement = { ...three, replicaScheduling: { replicaSchedulingType: 'Divided' } }
    const narrowed = loop(bind({ placement }), prefers('m2')).binding
    const status = { schedulerObservingAffinityName: 'default' }
    const returning = loop({ ...narrowed, spec: { ...narrowed.spec, ...runsIn('m1') }, status }, prefers('m2')).binding
    expect(readAnnotations(returning.metadata.annotations).locality?.since).toBeDefined()
    expect(loop(returning, prefers('m3')).state).toBe('Narrowed')
    expect(loop(loop(returning, []).binding, [], { now: NOW + DELAY }).state).toBe('Restored')
  })

  test('stays relaxed with a copy elsewhere until its cluster can take it again', () => {
    const clusters = lookup('m1', 'm3')
    const copies = { ...waiting, spec: { ...waiting.spec, ...runsIn('m1', 'm2') } }
    expect(loop(copies, [], { clusters, now: NOW + DELAY }).state).toBe('Relaxed')
  })

  test('does not wait if the other claims demand the same', () => {
    const both = [located(['m2']), located(['m2'], { claim: 'default/b' })]
    const narrowed = loop(bind(runsIn('m2')), both).binding
    expect(loop(narrowed, both.slice(1))).toMatchObject({ state: 'Narrowed', names: ['m2'] })
  })

  test('is released at once if it does not run', () => {
    const never = loop(bind({}), claims).binding
    expect(loop(never, []).state).toBe('Restored')
  })
})
