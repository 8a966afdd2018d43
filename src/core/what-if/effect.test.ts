import { describe, expect, test } from 'vitest'
import { located, makeBinding, makeCluster, makeInput, nowhere, unknown } from '../../../test/builders.ts'
import type { Cluster, Placement, ResourceBinding } from '../../api/karmada.ts'
import type { ClaimAnswer } from '../data-source/locate.ts'
import { newestRules } from '../karmada-rules.ts'
import { decideBinding } from '../resource-binding/decide.ts'
import type { PlacementState } from '../resource-binding/placement-decision.ts'
import { type Change, compareOutcomes, type Effect, presentOutcome } from './effect.ts'
import { evict, findEviction } from './evict.ts'
import { compileFleet } from './fleet.ts'
import type { Schedule } from './schedule.ts'
import { type Settled, type Step, settle } from './settle.ts'
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

describe('the loss of a cluster', () => {
  test('moves a workload without a claim to the other clusters of its policy', () => {
    const binding = makeBinding({ placement, clusters: [{ name: 'm2', replicas: 1 }] })
    expect(effectOf(binding, [], [], WITHOUT_M2)).toEqual([['moves', 'm2', 'm1,m3', 0]])
  })

  test('moves a workload whose only data was there, since its placement is relaxed', () => {
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
    const binding = makeBinding({ placement: only, clusters: [{ name: 'm2', replicas: 1 }] })
    expect(effectOf(binding, [], [], WITHOUT_M2)).toEqual([['stranded', 'm2', '', 0]])
  })

  test('removes a copy', () => {
    const binding = makeBinding({
      placement: { clusterAffinity: { clusterNames: ['m1', 'm2'] } },
      clusters: [
        { name: 'm1', replicas: 1 },
        { name: 'm2', replicas: 1 },
      ],
    })
    expect(effectOf(binding, [], [], WITHOUT_M2)).toEqual([['loses', 'm2', '', 0]])
  })

  test('changes nothing for a workload elsewhere', () => {
    expect(effectOf(makeBinding({ placement, clusters: [{ name: 'm1', replicas: 1 }] }), [], [], WITHOUT_M2)).toEqual(
      [],
    )
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
  const away = { ...moved.first.decision.binding, spec: { ...spec, clusters: [{ name: 'm1', replicas: 1 }] } }
  const base = presentOutcome(outcome({ binding: away, claims: inM2, fleet: WITHOUT_M2 }))
  const back = outcome({ binding: away, claims: inM2, fleet: PRESENT })
  expect(compareOutcomes(away, base, back).map(({ effect, to, afterSeconds }) => [effect, to, afterSeconds])).toEqual([
    ['comesHome', ['m2'], 300],
  ])
})

/** A step of a workload: its decision, and what the scheduler makes of it. */
interface Given {
  state?: PlacementState
  message?: string
  schedule?: Partial<Schedule>
  afterSeconds?: number
}

/** By default, Lodestone has narrowed the workload, and it runs in m1. */
function stepOf({ state = 'Narrowed', message = '', schedule, afterSeconds = 0 }: Given, copies: boolean): Step {
  const binding = makeBinding({ placement: copies ? { clusterAffinity: {} } : placement })
  return {
    decision: { state, binding, message },
    schedule: {
      keeps: schedule?.among || schedule?.problem ? [] : ['m1'],
      among: [],
      takesAll: false,
      waits: false,
      ...schedule,
    },
    afterSeconds,
  }
}

interface Comparison {
  name: string
  /** Where the workload runs. Default: m1. */
  runs?: string[]
  /** Whether each cluster runs all replicas. Default: the replicas are divided. */
  copies?: boolean
  /** Without the supposition; null for a new workload. */
  was: Given | null
  now: Given
  want: Partial<Change> | undefined
}

const HELD: Given = { state: 'OnHold', schedule: { keeps: [], waits: true } }
const STRANDED: Given = { schedule: { problem: 'its placement allows no cluster' } }
const chooses = (...among: string[]): Given => ({ schedule: { among } })
const keeps = (...kept: string[]): Given => ({ schedule: { keeps: kept } })
const takes = (kept: string[], among: string[]): Given => ({ schedule: { keeps: kept, among, takesAll: true } })
const inState = (state: PlacementState, given: Given = {}): Given => ({ ...given, state })

const COMPARISONS: Comparison[] = [
  { name: 'stays, which is no effect', was: {}, now: {}, want: undefined },
  {
    name: 'stays, but its decision changes',
    was: inState('Kept'),
    now: { message: 'its data is in m1' },
    want: { effect: 'stays', from: [], to: [], takesAll: false, reason: 'its data is in m1' },
  },
  {
    name: 'loses its last cluster, for a reason of the decision and one of the scheduler',
    was: {},
    now: { ...STRANDED, message: 'the data is in m2' },
    want: { effect: 'stranded', from: ['m1'], to: [], reason: 'the data is in m2; its placement allows no cluster' },
  },
  {
    name: 'that is new finds no cluster',
    runs: [],
    was: null,
    now: STRANDED,
    want: { effect: 'stranded', from: [], reason: 'its placement allows no cluster' },
  },
  { name: 'finds no cluster in either world', runs: [], was: STRANDED, now: STRANDED, want: undefined },
  { name: 'stays, although it would have lost its last cluster', was: STRANDED, now: {}, want: undefined },
  {
    name: 'that is new waits',
    runs: [],
    was: null,
    now: HELD,
    want: { effect: 'waits', from: [], to: [] },
  },
  { name: 'waits in both worlds', runs: [], was: HELD, now: HELD, want: undefined },
  {
    name: 'does not wait any more',
    runs: [],
    was: HELD,
    now: chooses('m1', 'm2'),
    want: { effect: 'released', to: ['m1', 'm2'], takesAll: false },
  },
  {
    name: 'is scheduled since its hold times out',
    runs: [],
    was: chooses('m1'),
    now: inState('Released', chooses('m1')),
    want: { effect: 'released', to: ['m1'] },
  },
  {
    name: 'that is new is scheduled since its hold times out',
    runs: [],
    was: null,
    now: inState('Released', chooses('m1')),
    want: { effect: 'released', to: ['m1'] },
  },
  {
    name: 'was released in the present world, too',
    was: inState('Released'),
    now: inState('Released'),
    want: undefined,
  },
  {
    name: 'that is new may go to one of several clusters',
    runs: [],
    was: null,
    now: chooses('m1', 'm2'),
    want: { effect: 'placed', to: ['m1', 'm2'], takesAll: false },
  },
  {
    name: 'that is new goes to all of its clusters',
    runs: [],
    was: null,
    now: takes([], ['m1', 'm2']),
    want: { effect: 'placed', to: ['m1', 'm2'], takesAll: true },
  },
  {
    name: 'that is placed later runs in the cluster of the earlier choice',
    runs: [],
    was: null,
    now: keeps('m2'),
    want: { effect: 'placed', from: [], to: ['m2'], takesAll: true },
  },
  {
    name: 'that does not run yet has a smaller choice',
    runs: [],
    was: chooses('m1', 'm2', 'm3'),
    now: chooses('m1', 'm3'),
    want: undefined,
  },
  {
    name: 'that does not run yet has a greater choice',
    runs: [],
    was: chooses('m1', 'm2'),
    now: chooses('m1', 'm2', 'm3'),
    want: { effect: 'placed', to: ['m1', 'm2', 'm3'] },
  },
  {
    name: 'that does not run yet goes to one of two groups of its clusters',
    runs: [],
    was: takes(['m3'], ['m1', 'm2']),
    now: chooses('m2', 'm3'),
    want: undefined,
  },
  {
    name: 'that does not run yet goes to a cluster of its choice, and to another one',
    runs: [],
    was: chooses('m1', 'm2'),
    now: chooses('m2', 'm3'),
    want: { effect: 'placed', to: ['m2', 'm3'] },
  },
  {
    name: 'leaves its cluster for another one',
    was: {},
    now: { ...chooses('m2'), message: 'its data is in m2' },
    want: { effect: 'moves', from: ['m1'], to: ['m2'], takesAll: false, reason: 'its data is in m2' },
  },
  {
    name: 'whose replicas are divided leaves one of its clusters',
    runs: ['m2', 'm1'],
    was: keeps('m1', 'm2'),
    now: keeps('m1'),
    want: { effect: 'moves', from: ['m2'], to: ['m1'], takesAll: true },
  },
  {
    name: 'leaves some of its clusters for some of them',
    runs: ['m2', 'm1'],
    was: keeps('m1', 'm2'),
    now: chooses('m1', 'm2'),
    want: { effect: 'loses', from: ['m1', 'm2'], to: ['m1', 'm2'] },
  },
  {
    name: 'leaves all of its clusters, by name',
    runs: ['m3', 'm1', 'm2'],
    was: keeps('m1', 'm2', 'm3'),
    now: chooses('m4'),
    want: { effect: 'moves', from: ['m1', 'm2', 'm3'], to: ['m4'] },
  },
  {
    name: 'loses a copy',
    runs: ['m1', 'm2'],
    copies: true,
    was: keeps('m1', 'm2'),
    now: keeps('m1'),
    want: { effect: 'loses', from: ['m2'], to: [], takesAll: false },
  },
  {
    name: 'gets a copy elsewhere for one that it loses',
    runs: ['m1', 'm2'],
    copies: true,
    was: keeps('m1', 'm2'),
    now: takes(['m1'], ['m3']),
    want: { effect: 'moves', from: ['m2'], to: ['m3'], takesAll: true },
  },
  {
    name: 'loses a copy for which it would have got one elsewhere',
    runs: ['m1', 'm2'],
    copies: true,
    was: takes(['m1'], ['m3']),
    now: keeps('m1'),
    want: { effect: 'loses', from: ['m2'], to: [], takesAll: false },
  },
  {
    name: 'gets further copies',
    copies: true,
    was: {},
    now: takes(['m1'], ['m2', 'm3']),
    want: { effect: 'gains', from: [], to: ['m2', 'm3'], takesAll: true },
  },
  {
    name: 'gets further copies in the present world, too',
    copies: true,
    was: takes(['m1'], ['m2', 'm3']),
    now: takes(['m1'], ['m3']),
    want: undefined,
  },
  {
    name: 'gets no further copies any more',
    copies: true,
    was: takes(['m1'], ['m2', 'm3']),
    now: keeps('m1'),
    want: undefined,
  },
  {
    name: 'that was relaxed returns to its data',
    was: inState('Relaxed'),
    now: chooses('m2'),
    want: { effect: 'comesHome', from: ['m1'], to: ['m2'] },
  },
  {
    name: 'that was kept elsewhere goes to its data',
    was: inState('Kept'),
    now: chooses('m2'),
    want: { effect: 'comesHome', from: ['m1'], to: ['m2'] },
  },
  {
    name: 'that was kept elsewhere goes to a cluster without its data',
    was: inState('Kept'),
    now: inState('Relaxed', chooses('m2')),
    want: { effect: 'moves', from: ['m1'], to: ['m2'] },
  },
  {
    name: 'moves in the present world, too, to the same clusters',
    was: chooses('m2', 'm3'),
    now: chooses('m2'),
    want: undefined,
  },
  {
    name: 'moves in the present world, too, but to other clusters',
    was: chooses('m2'),
    now: chooses('m3'),
    want: { effect: 'moves', from: ['m1'], to: ['m3'] },
  },
]

describe('the effect of a supposition', () => {
  test.each(COMPARISONS)('a workload $name', ({ runs = ['m1'], copies = false, was, now, want }) => {
    const binding = makeBinding({ placement, clusters: runs.map((name) => ({ name, replicas: 1 })) })
    const present = was ? presentOutcome({ first: stepOf(was, copies) }) : undefined
    const changes = compareOutcomes(was ? binding : undefined, present, { first: stepOf(now, copies) })
    expect(changes).toEqual(want ? [expect.objectContaining(want)] : [])
  })

  test.each(COMPARISONS)(
    'a workload $name: none if the present world does the same',
    ({ runs = ['m1'], copies = false, now }) => {
      const binding = makeBinding({ placement, clusters: runs.map((name) => ({ name, replicas: 1 })) })
      const settled = { first: stepOf(now, copies) }
      expect(compareOutcomes(binding, presentOutcome(settled), settled)).toEqual([])
    },
  )
})

describe('a later step', () => {
  const binding = makeBinding({ placement, clusters: [{ name: 'm1', replicas: 1 }] })
  const settled = (first: Given, later?: Given): Settled => ({
    first: stepOf(first, false),
    ...(later && { later: stepOf({ ...later, afterSeconds: 300 }, false) }),
  })
  const home: Given = chooses('m2')

  test.each<{ name: string; was: Settled | undefined; now: Settled; want: [Effect, number][] }>([
    {
      name: 'is an effect of its own',
      was: settled({}),
      now: settled(inState('Kept'), home),
      want: [
        ['stays', 0],
        ['moves', 300],
      ],
    },
    {
      name: 'comes after a first one without an effect',
      was: settled({}),
      now: settled({}, home),
      want: [['moves', 300]],
    },
    {
      name: 'that comes in the present world, too, is no effect',
      was: settled({}, home),
      now: settled({}, home),
      want: [],
    },
    {
      name: 'with the effect of the first one is not shown',
      was: settled({}),
      now: settled(chooses('m3'), home),
      want: [['moves', 0]],
    },
    {
      name: 'of a new workload is compared with nothing',
      was: undefined,
      now: settled(HELD, home),
      want: [
        ['waits', 0],
        ['placed', 300],
      ],
    },
  ])('$name', ({ was, now, want }) => {
    const changes = compareOutcomes(was && binding, was && presentOutcome(was), now)
    expect(changes.map(({ effect, afterSeconds }) => [effect, afterSeconds])).toEqual(want)
  })
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

test.each([
  { preserves: false, from: ['m2', 'm3'], reason: 'its copies are deleted with its binding' },
  {
    preserves: true,
    from: [],
    reason: 'its copies stay in their clusters without Karmada, since preserveResourcesOnDeletion is set',
  },
])('a deleted workload leaves $from if its policy preserves resources: $preserves', ({ preserves, from, reason }) => {
  const binding = makeBinding({
    placement,
    preserveResourcesOnDeletion: preserves,
    clusters: [
      { name: 'm3', replicas: 1 },
      { name: 'm2', replicas: 1 },
    ],
  })
  const settled = presentOutcome(outcome({ binding, claims: [], fleet: PRESENT }))
  expect(compareOutcomes(binding, settled, undefined)).toEqual([
    {
      effect: 'removed',
      from,
      to: [],
      takesAll: false,
      afterSeconds: 0,
      reason,
    },
  ])
})

test('a workload that moves leaves its copies behind if its policy preserves them', () => {
  const reasonOf = (preserveResourcesOnDeletion: boolean) => {
    const binding = makeBinding({ placement, clusters: [{ name: 'm2', replicas: 1 }], preserveResourcesOnDeletion })
    const base = presentOutcome(outcome({ binding, claims: [], fleet: PRESENT }))
    return compareOutcomes(binding, base, outcome({ binding, claims: [], fleet: WITHOUT_M2 }))[0]?.reason
  }
  expect(reasonOf(true)).toContain('its copies stay in the clusters that it leaves')
  expect(reasonOf(false)).not.toContain('copies')
})

test('a workload that is in neither world has no effect', () => {
  expect(compareOutcomes(undefined, undefined, undefined)).toEqual([])
})

test('a new workload is placed where its data is', () => {
  const created = outcome({ binding: makeBinding({ placement }), claims: inM2, fleet: PRESENT })
  expect(compareOutcomes(undefined, undefined, created)).toMatchObject([{ effect: 'placed', to: ['m2'] }])
})

test('a workload that gains fewer copies leaves no cluster for that, now or later', () => {
  const binding = makeBinding({ placement, clusters: [{ name: 'm1', replicas: 1 }] })
  const step = (keeps: string[], among: string[]) => ({
    decision: { state: 'Kept', binding, message: 'x' } as const,
    schedule: { keeps, among, takesAll: true, waits: false },
    afterSeconds: 0,
  })
  const present = presentOutcome({ first: step([], ['m2', 'm3', 'm4']), later: step(['m2', 'm3', 'm4'], []) })
  const supposed = { first: step([], ['m3', 'm4']), later: step(['m3', 'm4'], []) }
  expect(compareOutcomes(binding, present, supposed)).toEqual([])
})
