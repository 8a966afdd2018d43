import { describe, expect, test } from 'vitest'
import { located, makeBinding, makeCluster, makeInput, nowhere, unknown } from '../../../test/builders.ts'
import type { Cluster, Placement, ResourceBinding } from '../../api/karmada.ts'
import type { ClaimAnswer } from '../data-source/locate.ts'
import { newestRules } from '../karmada-rules.ts'
import { decideBinding } from '../resource-binding/decide.ts'
import { compareOutcomes, presentOutcome } from './effect.ts'
import { evict, findEviction } from './evict.ts'
import { compileFleet } from './fleet.ts'
import { type Settled, settle } from './settle.ts'
import { loseCluster } from './suppose.ts'

const divided = { replicaSchedulingType: 'Divided', replicaDivisionPreference: 'Aggregated' }
const placement: Placement = { clusterAffinity: { clusterNames: ['m1', 'm2', 'm3'] }, replicaScheduling: divided }
const fleetOf = (...clusters: Cluster[]) => compileFleet(clusters, newestRules)
const plain = ['m1', 'm2', 'm3'].map((name) => makeCluster(name))
const PRESENT = fleetOf(...plain)
const WITHOUT_M2 = fleetOf(...plain.map((cluster) => (cluster.metadata.name === 'm2' ? loseCluster(cluster) : cluster)))

interface Situation {
  binding: ResourceBinding
  claims: ClaimAnswer[]
  fleet: ReturnType<typeof fleetOf>
}

/** What becomes of a binding: Karmada evicts it from lost clusters, and Lodestone decides. */
function outcome({ binding, claims, fleet }: Situation) {
  const eviction = findEviction(binding, fleet)
  const written = eviction ? evict(binding, eviction.from) : binding
  const input = makeInput({ binding: written, stored: binding, claims, clusters: fleet.clusters })
  return settle({ ...input, fleet, isQueued: fleet !== PRESENT })
}

/** A workload that Lodestone has narrowed to its data, and Karmada has scheduled. */
function narrowedTo(clusters: string[], runs: string[], claims: ClaimAnswer[]): ResourceBinding {
  const created = makeBinding({ placement })
  const { binding } = decideBinding(
    makeInput({ binding: created, claims: clusters.length > 0 ? claims : [], clusters: PRESENT.clusters }),
  )
  return { ...binding, spec: { ...binding.spec, clusters: runs.map((name) => ({ name, replicas: 2 })) } }
}

function effectOf(binding: ResourceBinding, base: ClaimAnswer[], supposed: ClaimAnswer[], fleet = PRESENT) {
  return compareOutcomes(
    binding,
    presentOutcome(outcome({ binding, claims: base, fleet: PRESENT })),
    outcome({ binding, claims: supposed, fleet }),
  ).map(({ effect, from, to, afterSeconds }) => [effect, from.join(), to.join(), afterSeconds])
}

const inM2 = [located(['m2'])]

describe('a taint with the effect NoExecute', () => {
  const tainted = fleetOf(makeCluster('m1', { taints: [{ key: 'maintenance', effect: 'NoExecute' }] }))
  const tolerant = { ...placement, clusterTolerations: [{ key: 'maintenance', operator: 'Exists' }] }
  const appliedPlacement = (value: unknown) => ({ 'policy.karmada.io/applied-placement': JSON.stringify(value) })
  const bindingWith = (present: Placement, annotations: Record<string, string>): ResourceBinding => {
    const binding = makeBinding({ placement: present, clusters: [{ name: 'm1' }] })
    return { ...binding, metadata: { ...binding.metadata, annotations } }
  }

  test.each<{ name: string; binding: ResourceBinding; evicted: boolean }>([
    { name: 'evicts no workload that tolerates it', binding: bindingWith(tolerant, {}), evicted: false },
    {
      name: 'evicts a workload if the scheduler has not applied the toleration yet',
      binding: bindingWith(tolerant, appliedPlacement(placement)),
      evicted: true,
    },
    {
      name: 'evicts no workload while the scheduler has not applied that the toleration is gone',
      binding: bindingWith(placement, appliedPlacement(tolerant)),
      evicted: false,
    },
    {
      name: 'is compared with the present placement if the applied one cannot be read',
      binding: bindingWith(tolerant, appliedPlacement({ clusterTolerations: [{ key: 1 }] })),
      evicted: false,
    },
  ])('$name', ({ binding, evicted }) => {
    expect(findEviction(binding, tainted)).toEqual(evicted ? { from: ['m1'], afterSeconds: 0 } : undefined)
  })
})

describe('the loss of a cluster', () => {
  test('moves a workload without a claim to the other clusters of its policy', () => {
    const binding = makeBinding({ placement, clusters: [{ name: 'm2' }] })
    expect(effectOf(binding, [], [], WITHOUT_M2)).toEqual([['moves', 'm2', 'm1,m3', 0]])
  })

  test('moves a workload whose only data was there, since Lodestone relaxes its placement', () => {
    expect(effectOf(narrowedTo(['m2'], ['m2'], inM2), inM2, inM2, WITHOUT_M2)).toEqual([['moves', 'm2', 'm1,m3', 0]])
  })

  test('moves a workload to the other cluster with its data', () => {
    const claims = [located(['m2', 'm3'])]
    expect(effectOf(narrowedTo(['m2', 'm3'], ['m2'], claims), claims, claims, WITHOUT_M2)).toEqual([
      ['moves', 'm2', 'm3', 0],
    ])
  })

  test('strands a workload whose policy allows no other cluster', () => {
    const only = { ...placement, clusterAffinity: { clusterNames: ['m2'] } }
    const binding = makeBinding({ placement: only, clusters: [{ name: 'm2' }] })
    expect(effectOf(binding, [], [], WITHOUT_M2)).toEqual([['stranded', 'm2', '', 0]])
  })

  test('removes a copy', () => {
    const binding = makeBinding({
      placement: { clusterAffinity: { clusterNames: ['m1', 'm2'] } },
      clusters: [{ name: 'm1' }, { name: 'm2' }],
    })
    expect(effectOf(binding, [], [], WITHOUT_M2)).toEqual([['loses', 'm2', '', 0]])
  })

  test('changes nothing for a workload elsewhere', () => {
    expect(effectOf(makeBinding({ placement, clusters: [{ name: 'm1' }] }), [], [], WITHOUT_M2)).toEqual([])
  })

  test('puts a workload on hold that waits for its first cluster', () => {
    expect(effectOf(makeBinding({ placement }), inM2, inM2, WITHOUT_M2)).toEqual([['waits', '', '', 0]])
  })
})

describe('data that moves', () => {
  const binding = narrowedTo(['m2'], ['m2'], inM2)
  test('moves its workload', () => {
    expect(effectOf(binding, inM2, [located(['m3'])])).toEqual([['moves', 'm2', 'm3', 0]])
  })

  test('lets a workload stay whose claim does not follow', () => {
    const never = [located(['m3'], { rebalance: 'Never' })]
    expect(effectOf(binding, inM2, never)).toEqual([['stays', '', '', 0]])
  })

  test('lets a workload stay where its location becomes unknown', () => {
    expect(effectOf(binding, inM2, [unknown()])).toEqual([['stays', '', '', 0]])
  })

  test('holds a new workload until its data exists, and says when its hold ends', () => {
    const waiting = makeBinding({ placement })
    expect(effectOf(waiting, inM2, [nowhere({ holdTimeoutSeconds: 60 })])).toEqual([
      ['waits', '', '', 0],
      ['released', '', 'm1,m2,m3', 60],
    ])
  })

  test('ends a hold', () => {
    const { binding: held } = decideBinding(makeInput({ binding: makeBinding({ placement }), claims: [unknown()] }))
    expect(effectOf(held, [unknown()], inM2)).toEqual([['released', '', 'm2', 0]])
  })
})

test('a workload that ran elsewhere comes home when the failback window is over', () => {
  const moved = outcome({ binding: narrowedTo(['m2'], ['m2'], inM2), claims: inM2, fleet: WITHOUT_M2 })
  const { gracefulEvictionTasks: _, ...spec } = moved.first.decision.binding.spec
  const away = { ...moved.first.decision.binding, spec: { ...spec, clusters: [{ name: 'm1' }] } }
  const base = presentOutcome(outcome({ binding: away, claims: inM2, fleet: WITHOUT_M2 }))
  const back = outcome({ binding: away, claims: inM2, fleet: PRESENT })
  expect(compareOutcomes(away, base, back).map(({ effect, to, afterSeconds }) => [effect, to, afterSeconds])).toEqual([
    ['comesHome', ['m2'], 300],
  ])
})

test('a workload that does not run yet may go to one cluster less, at once and later', () => {
  const binding = makeBinding({ placement })
  const in2 = (settled: Settled, names: string[]): Settled => {
    const schedule = { keeps: names, among: [], takesAll: false, waits: false }
    return { ...settled, later: { ...settled.first, schedule, afterSeconds: 2 } }
  }
  const base = presentOutcome(in2(outcome({ binding, claims: [], fleet: PRESENT }), ['m1', 'm2', 'm3']))
  const without = outcome({ binding, claims: [], fleet: WITHOUT_M2 })
  expect(compareOutcomes(binding, base, in2(without, ['m1', 'm3']))).toEqual([])
  expect(compareOutcomes(binding, base, in2(without, ['m4']))).toMatchObject([{ effect: 'placed', to: ['m4'] }])
})

test('a deleted workload is removed, and a new one is placed', () => {
  const binding = makeBinding({ placement, clusters: [{ name: 'm2' }] })
  const settled = presentOutcome(outcome({ binding, claims: [], fleet: PRESENT }))
  expect(compareOutcomes(binding, settled, undefined)).toMatchObject([{ effect: 'removed', from: ['m2'] }])
  const created = outcome({ binding: makeBinding({ placement }), claims: inM2, fleet: PRESENT })
  expect(compareOutcomes(undefined, undefined, created)).toMatchObject([{ effect: 'placed', to: ['m2'] }])
})

test('a workload that gains fewer copies leaves no cluster for that, now or later', () => {
  const binding = makeBinding({ placement, clusters: [{ name: 'm1' }] })
  const step = (keeps: string[], among: string[]) => ({
    decision: { state: 'Kept', binding, message: 'x' } as const,
    schedule: { keeps, among, takesAll: true, waits: false },
    afterSeconds: 0,
  })
  const present = presentOutcome({ first: step([], ['m2', 'm3', 'm4']), later: step(['m2', 'm3', 'm4'], []) })
  const supposed = { first: step([], ['m3', 'm4']), later: step(['m3', 'm4'], []) }
  expect(compareOutcomes(binding, present, supposed)).toEqual([])
})
