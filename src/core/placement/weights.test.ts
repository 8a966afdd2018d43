import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bind, loop, one, runsIn, write } from '../../../test/binding-writes.ts'
import { located, lookup, makeCluster, unknown } from '../../../test/builders.ts'
import type { ClusterAffinity, Placement } from '../../api/karmada.ts'
import { newestRules } from '../karmada-rules.ts'
import { divideByWeights, fixedWeights, weightCheck } from './weights.ts'

const leaving = makeCluster('m5')
const clusters = lookup('m1', makeCluster('m2', { region: 'eu' }), 'm3', 'm4', {
  ...leaving,
  metadata: { ...leaving.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
})
const clusterNames = () => ['m1', 'm2', 'm3', 'm4', 'm5']
const named = (...clusterNames: string[]): ClusterAffinity => ({ clusterNames })
const acceptAll = () => undefined
const inEurope = { fieldSelector: { matchExpressions: [{ key: 'region', operator: 'In', values: ['eu'] }] } }
const NONE = 'the static weights of the policy give its replicas to other clusters, and none to those with the data'

function weighted(rules: ClusterAffinity[], preference: object = {}): Placement {
  const staticWeightList = rules.map((targetCluster) => ({ targetCluster, weight: 1 }))
  return {
    replicaScheduling: {
      replicaSchedulingType: 'Divided',
      replicaDivisionPreference: 'Weighted',
      weightPreference: { staticWeightList },
      ...preference,
    },
  }
}

describe('a set of clusters', () => {
  test.each<{
    name: string
    placement: Placement
    base?: ClusterAffinity[]
    names: string[]
    runsIn?: string[]
    want: string | undefined
  }>([
    { name: 'has weights', placement: weighted([named('m1'), named('m2')]), names: ['m1', 'm2'], want: undefined },
    { name: 'has a weight', placement: weighted([named('m1')]), names: ['m1', 'm3'], want: undefined },
    { name: 'has no weight', placement: weighted([named('m1'), named('m2')]), names: ['m3', 'm4'], want: NONE },
    { name: 'has a weight by a selector', placement: weighted([inEurope]), names: ['m2'], want: undefined },
    { name: 'has no weight by a selector', placement: weighted([inEurope]), names: ['m3'], want: NONE },
    {
      name: 'has no weight by a selector, as all clusters of its group',
      placement: weighted([inEurope]),
      base: [named('m3', 'm4')],
      names: ['m3'],
      want: undefined,
    },
    {
      name: 'has no weight by a selector, as all clusters that exist',
      placement: weighted([{ labelSelector: { matchLabels: { tier: 'gold' } } }]),
      names: ['m3'],
      want: undefined,
    },
    {
      name: 'has no weight as all clusters of its group',
      placement: weighted([named('m1')]),
      base: [named('m3', 'm4')],
      names: ['m3'],
      want: undefined,
    },
    {
      name: 'has no weight as all clusters that exist',
      placement: weighted([named('m9')]),
      names: ['m3'],
      want: undefined,
    },
    {
      name: 'has no weight, as one that is being deleted has it',
      placement: weighted([named('m5')]),
      names: ['m3'],
      want: undefined,
    },
    { name: 'runs the workload', placement: weighted([named('m1')]), names: ['m3'], runsIn: ['m3'], want: undefined },
    {
      name: 'has dynamic weights',
      placement: weighted([], { weightPreference: { staticWeightList: [{}], dynamicWeight: 'AvailableReplicas' } }),
      names: ['m3'],
      want: undefined,
    },
    { name: 'has no weights in the policy', placement: weighted([]), names: ['m3'], want: undefined },
    {
      name: 'is filled one after the other',
      placement: weighted([named('m1')], { replicaDivisionPreference: 'Aggregated' }),
      names: ['m3'],
      want: undefined,
    },
    {
      name: 'has too many rules to compare',
      placement: weighted(Array.from({ length: 101 }, () => named('m1'))),
      names: ['m3'],
      want: undefined,
    },
  ])('$name: $want', ({ placement, base = [{}], names, runsIn: targets = [], want }) => {
    const input = { clusters, clusterNames, rules: newestRules, runsIn: targets, refuses: acceptAll }
    expect(weightCheck(placement, input)(base, names)?.reason).toBe(want)
  })

  const ELSEWHERE =
    'm1 is tainted, and the static weights of the policy give none of its replicas to other clusters with the data'
  test.each<{ name: string; weights: ClusterAffinity[]; base?: ClusterAffinity; refused?: string[]; want?: string }>([
    { name: 'another one by name', weights: [named('m1', 'm4')], want: ELSEWHERE },
    { name: 'another one by a selector', weights: [named('m1'), inEurope], base: named('m1', 'm2'), want: ELSEWHERE },
    { name: 'another one by a selector that may be anywhere', weights: [named('m1'), inEurope], want: ELSEWHERE },
    { name: 'one that is not allowed', weights: [named('m1', 'm4')], base: named('m1', 'm3') },
    { name: 'no other one', weights: [named('m1')] },
    { name: 'one that refuses the workload too', weights: [named('m1', 'm4')], refused: ['m1', 'm4'] },
    { name: 'another one, as does all of its data', weights: [named('m1', 'm4')], refused: ['m1', 'm3'] },
    { name: 'another one with the data', weights: [named('m1', 'm3')] },
  ])('has a weight in m1, which refuses the workload, and the weights name $name', (one) => {
    const { weights, base = {}, refused = ['m1'], want } = one
    const refuses = (name: string) => (refused.includes(name) ? 'is tainted' : undefined)
    const check = weightCheck(weighted(weights), { clusters, clusterNames, rules: newestRules, runsIn: [], refuses })
    expect(check([base], ['m1', 'm3'])).toEqual(want && { kind: 'unfit', reason: want })
  })

  test.each([
    { weights: 'by names', target: (i: number) => named(...Array.from({ length: 40 }, (_, n) => `m${i * 40 + n}`)) },
    { weights: 'by selectors', target: () => inEurope },
  ])('is compared with weights $weights at a limited cost for any number of groups', ({ target }) => {
    const names = Array.from({ length: 4000 }, (_, i) => `m${i}`)
    const all = lookup(...names)
    let lookUps = 0
    const counted = (name: string) => {
      lookUps++
      return all(name)
    }
    const check = weightCheck(weighted(Array.from({ length: 100 }, (_, i) => target(i))), {
      clusters: counted,
      rules: newestRules,
      runsIn: [],
      refuses: acceptAll,
    })
    for (let group = 0; group < 1000; group++) check([named(`z${group}`)], [`z${group}`])
    expect(lookUps).toBeLessThan(500_000)
  })

  test('is not compared if Clusters cannot be read', () => {
    const input = { clusters: undefined, rules: newestRules, runsIn: [], refuses: acceptAll }
    const check = weightCheck(weighted([named('m1')]), input)
    expect(check([{}], ['m3'])).toBeUndefined()
  })
})

describe('a workload whose policy gives all replicas to m1 and m2', () => {
  const placement = { ...one('m1', 'm2', 'm3'), ...weighted([named('m1'), named('m2')]) }
  const inM3 = [located(['m3'])]

  test('waits for data in m3, and says why', () => {
    const held = loop(bind({ placement }), inM3)
    expect(held).toMatchObject({ state: 'OnHold', message: `default/sales (m3): ${NONE}` })
    expect(loop(held.binding, [located(['m2', 'm3'])])).toMatchObject({ state: 'Narrowed', names: ['m2', 'm3'] })
  })

  test('stays where it runs when its data moves to m3', () => {
    const before = loop(bind({ placement, ...runsIn('m2') }), [located(['m2'])]).binding
    expect(loop(before, inM3)).toMatchObject({ state: 'Kept', names: ['m2'] })
  })

  describe('and whose data is in m1 and m3', () => {
    const [inBoth, drained] = [[located(['m1', 'm3'])], { key: 'maintenance', effect: 'NoExecute' } as const]
    const withoutM1 = { clusters: lookup(makeCluster('m1', { taints: [drained] }), 'm2', 'm3') }
    const leaving = { clusters: [], gracefulEvictionTasks: [{ fromCluster: 'm1' }] }

    test('goes to m2 when it is evicted from m1', () => {
      const before = loop(bind({ placement, ...runsIn('m1') }), inBoth).binding
      const { state, binding } = write(before, leaving, { claims: inBoth, ...withoutM1 })
      expect({ state, placement: binding.spec.placement }).toEqual({ state: 'Relaxed', placement })
    })

    test('goes to m3 when m1 and m2 have evicted it', () => {
      const before = loop(bind({ placement, ...runsIn('m1') }), inBoth).binding
      const m3 = { clusters: lookup(...['m1', 'm2'].map((name) => makeCluster(name, { taints: [drained] })), 'm3') }
      const { state } = write(before, leaving, { claims: inBoth, ...m3 })
      expect(state).toBe('Narrowed')
    })

    test('says why it leaves m1 when the location is unknown by then', () => {
      const before = loop(bind({ placement, ...runsIn('m1') }), inBoth).binding
      const { message } = write(before, leaving, { claims: [unknown()], ...withoutM1 })
      const ours = 'm1 is being evicted, and the static weights of the policy give none of its replicas to'
      expect(message).toContain(`no cluster of the last narrowing can take the workload: ${ours}`)
    })

    test('waits for m1 if it does not run yet', () => {
      expect(loop(bind({ placement }), inBoth, withoutM1)).toMatchObject({ state: 'OnHold' })
    })

    test('stays in m3 if it runs there', () => {
      const { state, names } = loop(bind({ placement, ...runsIn('m3') }), inBoth, withoutM1)
      expect({ state, names }).toEqual({ state: 'Narrowed', names: ['m1', 'm3'] })
    })
  })

  test('stays in m3 if it runs there', () => {
    const before = loop(bind({ placement, ...runsIn('m3') }), inM3)
    expect(before).toMatchObject({ state: 'Narrowed', names: ['m3'] })
    expect(write(before.binding, { placement }, { claims: inM3 }).binding).toEqual(before.binding)
  })

  test('does not prefer m3', () => {
    const { binding } = loop(bind({ placement }), [located(['m3'], { enforcement: 'Preferred' })])
    expect(binding.spec.placement).toEqual(placement)
  })

  test('is copied to m3 if it has no replicas to divide', () => {
    expect(loop(bind({ placement, replicas: 0 }), inM3)).toMatchObject({ state: 'Narrowed', names: ['m3'] })
  })

  test('may use m3 by a group of the policy that has no weights', () => {
    const groups = {
      ...weighted([named('m1'), named('m2')]),
      clusterAffinities: [
        { affinityName: 'a', clusterNames: ['m1', 'm2', 'm4'] },
        { affinityName: 'b', clusterNames: ['m3'] },
      ],
    }
    const { binding } = loop(bind({ placement: groups }), [located(['m3', 'm4'])], { clusters })
    expect(binding.spec.placement?.clusterAffinities).toEqual([{ affinityName: 'b', clusterNames: ['m3'] }])
  })
})

describe('a workload whose policy divides its replicas by the labels of clusters', () => {
  const gold = { labelSelector: { matchLabels: { tier: 'gold' } } }
  const placement = { ...one('m1', 'm2'), ...weighted([gold]) }

  test('runs with its data if none of the clusters has the label', () => {
    expect(loop(bind({ placement }), [located(['m1'])])).toMatchObject({ state: 'Narrowed', names: ['m1'] })
  })

  test('waits for data in another cluster than the one with the label', () => {
    const labeled = { clusters: lookup('m1', makeCluster('m2', {}, { tier: 'gold' })) }
    expect(loop(bind({ placement }), [located(['m1'])], labeled)).toMatchObject({ state: 'OnHold' })
  })
})

describe('fixed weights', () => {
  const list = (...entries: [ClusterAffinity, number][]): Placement => ({
    replicaScheduling: {
      replicaDivisionPreference: 'Weighted',
      weightPreference: { staticWeightList: entries.map(([targetCluster, weight]) => ({ targetCluster, weight })) },
    },
  })

  test.each<{ name: string; placement: Placement; want: Record<string, number> }>([
    { name: 'are the same for all clusters without a list', placement: list(), want: { m1: 1, m2: 1, m3: 1 } },
    { name: 'leave out a cluster that is not listed', placement: list([named('m1', 'm3'), 2]), want: { m1: 2, m3: 2 } },
    { name: 'are the same if no cluster is listed', placement: list([named('m9'), 2]), want: { m1: 1, m2: 1, m3: 1 } },
    {
      name: 'are the largest one that matches',
      placement: list([named('m1', 'm2'), 1], [inEurope, 3], [{}, 0]),
      want: { m1: 1, m2: 3 },
    },
  ])('$name', ({ placement, want }) => {
    const found = fixedWeights(['m1', 'm2', 'm3'], placement, clusters, newestRules)
    expect(Object.fromEntries(found ?? [])).toEqual(want)
  })

  test('are not computed for too many comparisons', () => {
    const many = Array.from({ length: 1001 }, (_, i): [ClusterAffinity, number] => [named(`c${i}`), 1])
    expect(fixedWeights(['m1'], list(...many), clusters, newestRules)).toBeUndefined()
  })

  test('give replicas as the scheduler does', () => {
    const weights = fc.uniqueArray(
      fc.record({ name: fc.stringMatching(/^[a-f]$/), weight: fc.integer({ min: 1, max: 9 }) }),
      {
        selector: ({ name }) => name,
        minLength: 1,
      },
    )
    fc.assert(
      fc.property(weights, fc.integer({ min: 0, max: 20 }), (given, replicas) => {
        const byName = new Map(given.map(({ name, weight }) => [name, weight]))
        const { certain, possible } = divideByWeights(byName, replicas)
        const orders = [1, -1].map((order) => allocate(byName, replicas, order))
        expect(certain.sort()).toEqual(
          [...byName.keys()]
            .filter((name) => orders.every((got) => got.has(name)))
            .sort()
            .filter((name) => !possible.includes(name)),
        )
        for (const got of orders) for (const name of got) expect([...certain, ...possible]).toContain(name)
      }),
    )
  })

  /** The clusters with replicas. `order`: whether the first or the last name gets a replica of equal clusters. */
  function allocate(weights: ReadonlyMap<string, number>, replicas: number, order: number): Set<string> {
    const counts = new Map([...weights.keys()].map((name) => [name, 0]))
    const countOf = (name: string) => counts.get(name) ?? 0
    const quotient = (name: string) => (weights.get(name) ?? 0) / (2 * countOf(name) + 1)
    for (let i = 0; i < replicas; i++) {
      const [first = ''] = [...counts.keys()].sort(
        (a, b) => quotient(b) - quotient(a) || countOf(a) - countOf(b) || order * (a < b ? -1 : 1),
      )
      counts.set(first, countOf(first) + 1)
    }
    return new Set([...counts.keys()].filter((name) => countOf(name) > 0))
  }
})
