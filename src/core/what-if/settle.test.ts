import { describe, expect, test } from 'vitest'
import { located, makeBinding, makeCluster, makeInput, NOW, nowhere, unknown } from '../../../test/builders.ts'
import type { Cluster, Placement, ResourceBinding } from '../../api/karmada.ts'
import { HOLD_ANNOTATION, LOCALITY_ANNOTATION } from '../../api/lodestone.ts'
import type { ClaimAnswer } from '../data-source/locate.ts'
import { newestRules } from '../karmada-rules.ts'
import { decideBinding } from '../resource-binding/decide.ts'
import { DEFAULT_TIMING } from '../resource-binding/timing.ts'
import { evict } from './evict.ts'
import { compileFleet } from './fleet.ts'
import { type Settled, settle } from './settle.ts'

const NAMES = ['m1', 'm2', 'm3']
const FLEET = NAMES.map((name) => makeCluster(name))
const WINDOW = DEFAULT_TIMING.failbackWindowMs / 1000
const DELAY = DEFAULT_TIMING.releaseDelayMs / 1000
const divided = { replicaScheduling: { replicaSchedulingType: 'Divided', replicaDivisionPreference: 'Aggregated' } }
const allow = (...clusterNames: string[]): Placement => ({ clusterAffinity: { clusterNames } })

/** A workload that runs in these clusters, as Lodestone decided on it for these claims. */
function running(placement: Placement, runs: string[], claims: ClaimAnswer[], observed?: string): ResourceBinding {
  const { clusters } = compileFleet(FLEET, newestRules)
  const { binding } = decideBinding(makeInput({ binding: makeBinding({ placement }), claims, clusters }))
  return {
    ...binding,
    spec: { ...binding.spec, clusters: runs.map((name) => ({ name, replicas: 2 })) },
    ...(observed && { status: { schedulerObservingAffinityName: observed } }),
  }
}

interface Given {
  stored: ResourceBinding | undefined
  /** What Karmada or a user writes; by default nothing. */
  written?: ResourceBinding
  claims: ClaimAnswer[]
  clusters?: Cluster[]
  /** Whether a cluster changed that the binding allows. */
  isQueued?: boolean
}

function settled({ stored, written, claims, clusters = FLEET, isQueued = false }: Given): Settled {
  const fleet = compileFleet(clusters, newestRules)
  const binding = written ?? stored ?? makeBinding()
  const input = makeInput({ binding, stored, claims, clusters: fleet.clusters })
  return settle({ ...input, fleet, isQueued })
}

/** Each step: the decision, the clusters that stay, those to which the workload may go, and when. */
function stepsOf(given: Given) {
  const { first, later } = settled(given)
  return [first, ...(later ? [later] : [])].map(({ decision: { state }, schedule, afterSeconds }) => [
    state,
    schedule.waits ? 'waits' : schedule.keeps.join(),
    schedule.among.join(),
    afterSeconds,
  ])
}

describe('a hold', () => {
  const placement = { ...allow('m1', 'm2'), ...divided }
  const created = makeBinding({ placement })
  const lasting60 = nowhere({ holdTimeoutSeconds: 60 })

  test.each<{ name: string; given: Given; want: unknown[][] }>([
    {
      name: 'without a timeout does not end',
      given: { stored: created, claims: [unknown()] },
      want: [['OnHold', 'waits', '', 0]],
    },
    {
      name: 'ends at its timeout, and the workload goes to the clusters of its policy',
      given: { stored: created, claims: [lasting60] },
      want: [
        ['OnHold', 'waits', '', 0],
        ['Released', '', 'm1,m2', 60],
      ],
    },
    {
      name: 'of several claims ends at the first timeout',
      given: { stored: created, claims: [lasting60, unknown({ claim: 'default/z', holdTimeoutSeconds: 7 })] },
      want: [
        ['OnHold', 'waits', '', 0],
        ['Released', '', 'm1,m2', 7],
      ],
    },
    {
      name: 'of a new workload begins now',
      given: { stored: undefined, written: created, claims: [lasting60] },
      want: [
        ['OnHold', 'waits', '', 0],
        ['Released', '', 'm1,m2', 60],
      ],
    },
    {
      name: 'is not older than its binding, whatever a user writes',
      given: {
        stored: created,
        written: withAnnotation(created, HOLD_ANNOTATION, {
          since: new Date(NOW - 3_600_000).toISOString(),
          reason: 'Unsatisfiable',
          message: 'x',
        }),
        claims: [lasting60],
      },
      want: [
        ['OnHold', 'waits', '', 0],
        ['Released', '', 'm1,m2', 60],
      ],
    },
    {
      name: 'that ended leaves the workload in the cluster that it got',
      given: { stored: makeBinding({ placement: { ...allow('m1'), ...divided } }), claims: [lasting60] },
      want: [
        ['OnHold', 'waits', '', 0],
        ['Released', '', 'm1', 60],
      ],
    },
  ])('$name', ({ given, want }) => {
    expect(stepsOf(given)).toEqual(want)
  })
})

function withAnnotation(binding: ResourceBinding, name: string, value: unknown): ResourceBinding {
  const { annotations } = binding.metadata
  return {
    ...binding,
    metadata: { ...binding.metadata, annotations: { ...annotations, [name]: JSON.stringify(value) } },
  }
}

describe('a workload whose last claim is gone', () => {
  test('gets copies in all clusters of its policy after the release delay', () => {
    const stored = running(allow(...NAMES), ['m2'], [located(['m2'])])
    expect(stepsOf({ stored, claims: [] })).toEqual([
      ['Kept', 'm2', '', 0],
      ['Restored', 'm2', 'm1,m3', DELAY],
    ])
  })

  test('stays where it runs after the release delay if its replicas are divided', () => {
    const stored = running({ ...allow(...NAMES), ...divided }, ['m2'], [located(['m2'])])
    expect(stepsOf({ stored, claims: [] })).toEqual([
      ['Kept', 'm2', '', 0],
      ['Restored', 'm2', '', DELAY],
    ])
  })
})

describe('a later step is decided where the scheduler has brought the workload before', () => {
  const everywhere = [located(NAMES)]

  test('a cluster that evicted a copy may get it again when the eviction is over', () => {
    const stored = running(allow(...NAMES), ['m1', 'm2'], [located(['m1', 'm2'])])
    const given = { stored, written: evict(stored, ['m2']), claims: [] }
    expect(stepsOf(given)).toEqual([
      ['Kept', 'm1', '', 0],
      ['Restored', 'm1', 'm2,m3', DELAY],
    ])
    const { clusters, gracefulEvictionTasks } = settled(given).later?.decision.binding.spec ?? {}
    expect([clusters, gracefulEvictionTasks]).toEqual([[{ name: 'm1', replicas: 2 }], undefined])
  })

  test('a workload has all further copies in the group that the scheduler chose', () => {
    const placement = {
      clusterAffinities: [
        { affinityName: 'first', clusterNames: NAMES },
        { affinityName: 'second', clusterNames: ['m4'] },
      ],
    }
    const conditions = [{ type: 'FullyApplied', status: 'True' as const, reason: 'FullyAppliedSuccess' }]
    const stored = { ...running(placement, ['m2'], [located(['m1', 'm2'])]), status: { conditions } }
    const given = { stored, claims: [], isQueued: true }
    expect(stepsOf(given)).toEqual([
      ['Kept', 'm2', 'm1', 0],
      ['Restored', 'm1,m2', 'm3', DELAY],
    ])
    const { spec, status } = settled(given).later?.decision.binding ?? {}
    expect(spec?.clusters).toEqual([{ name: 'm2', replicas: 2 }, { name: 'm1' }])
    expect(status).toEqual({ conditions, schedulerObservingAffinityName: 'first' })
  })

  test('a workload stays in the group that the scheduler chose when it kept its clusters', () => {
    const placement = {
      clusterAffinities: [
        { affinityName: 'first', clusterNames: ['m1'] },
        { affinityName: 'second', clusterNames: ['m2', 'm3'] },
      ],
    }
    const stored = running(placement, ['m2'], [located(['m2'])])
    expect(stepsOf({ stored, claims: [], isQueued: true })).toEqual([
      ['Kept', 'm2', '', 0],
      ['Restored', 'm2', 'm3', DELAY],
    ])
  })

  test('a workload without groups has no observed group', () => {
    const stored = running(allow(...NAMES), ['m2'], [located(['m1', 'm2'])])
    expect(settled({ stored, claims: [], isQueued: true }).later?.decision.binding.status).toEqual({})
  })

  test('a workload that may go to one of several clusters has no later step', () => {
    const stored = running({ ...allow(...NAMES), ...divided }, ['m1'], everywhere)
    expect(stepsOf({ stored, written: evict(stored, ['m1']), claims: [] })).toEqual([['Kept', '', 'm2,m3', 0]])
  })

  test('a workload that finds no cluster has no later step', () => {
    const stored = running({ ...allow('m1', 'm2'), ...divided }, ['m1'], [located(['m1', 'm2'])])
    const clusters = [makeCluster('m1'), makeCluster('m2', { taints: [{ key: 'broken', effect: 'NoSchedule' }] })]
    expect(stepsOf({ stored, written: evict(stored, ['m1']), claims: [], clusters })).toHaveLength(1)
  })
})

describe('a workload that runs away from its data', () => {
  const preferred = [located(['m2'], { enforcement: 'Preferred' })]
  const placement = { ...allow('m1', 'm2'), ...divided }

  test('returns to preferred data once, after the failback window', () => {
    const stored = running(placement, ['m1'], preferred, 'default')
    expect(stepsOf({ stored, claims: preferred })).toEqual([
      ['Narrowed', 'm1', '', 0],
      ['Narrowed', '', 'm2', WINDOW],
    ])
  })

  test('returns to required data after the failback window', () => {
    const required = [located(['m2'])]
    const narrowed = running(placement, ['m1'], required)
    const { locality } = annotationsOf(narrowed)
    const stored = withAnnotation(narrowed, LOCALITY_ANNOTATION, { ...locality, state: 'Relaxed' })
    expect(stepsOf({ stored, claims: required })).toEqual([
      ['Relaxed', 'm1', '', 0],
      ['Narrowed', '', 'm2', WINDOW],
    ])
  })

  test('moves at once if its data is elsewhere', () => {
    const stored = running(placement, ['m2'], [located(['m2'])])
    expect(stepsOf({ stored, claims: [located(['m1'])] })).toEqual([['Narrowed', '', 'm1', 0]])
  })
})

function annotationsOf({ metadata }: ResourceBinding): { locality: object } {
  return { locality: JSON.parse(metadata.annotations?.[LOCALITY_ANNOTATION] ?? '{}') }
}
