import { describe, expect, test } from 'vitest'
import { located, lookup, makeBinding, makeCluster, makeInput } from '../../../test/builders.ts'
import type { ClusterAffinity, Placement } from '../../api/karmada.ts'
import { effectiveAffinity } from '../placement/affinity.ts'
import { narrowToFit } from './narrow-to-fit.ts'
import { parseInput } from './parse-input.ts'

const groups: Placement = {
  clusterAffinities: [
    { affinityName: 'a', clusterNames: ['m1', 'm2'] },
    { affinityName: 'b', clusterNames: ['m3'] },
  ],
}
const broken = (name: string) => makeCluster(name, { taints: [{ key: 'k', effect: 'NoSchedule' }] })

function narrow(required: string[], clusters: Parameters<typeof lookup>, observed?: string, placement = groups) {
  const status = { ...(observed && { schedulerObservingAffinityName: observed }) }
  const binding = { ...makeBinding({ placement }), status }
  const input = parseInput(makeInput({ binding, stored: binding, clusters: lookup(...clusters) }))
  const narrowing = narrowToFit(input, effectiveAffinity(placement), { required })
  if (narrowing.kind !== 'narrowed') return [narrowing.kind, narrowing.reason]
  return [narrowing.round, ...(narrowing.affinity.clusterAffinities ?? []).map(({ affinityName }) => affinityName)]
}

describe('a base is narrowed to clusters of which the scheduler accepts one', () => {
  test.each<{
    name: string
    required: string[]
    clusters: Parameters<typeof lookup>
    observed?: string
    want: unknown[]
  }>([
    { name: 'with the names of the policy', required: ['m1', 'm3'], clusters: ['m1', 'm3'], want: [0, 'a', 'b'] },
    {
      name: 'with new names, if the scheduler would skip the only group that fits',
      required: ['m1', 'm3'],
      clusters: ['m1', broken('m3')],
      observed: 'b',
      want: [1, 'a.1', 'b.1'],
    },
    {
      name: 'with the same names, if a later group fits',
      required: ['m1', 'm3'],
      clusters: [broken('m1'), 'm3'],
      observed: 'a',
      want: [0, 'a', 'b'],
    },
    {
      name: 'not if it accepts none',
      required: ['m3'],
      clusters: ['m1', broken('m3')],
      want: ['unfit', 'm3 has the taint k:NoSchedule, which the policy does not tolerate'],
    },
    {
      name: 'not if the policy allows none',
      required: ['m9'],
      clusters: ['m1', 'm9'],
      want: ['unsatisfiable', 'the data is in m9, which the policy does not allow'],
    },
  ])('$name', ({ required, clusters, observed, want }) => {
    expect(narrow(required, clusters, observed)).toEqual(want)
  })
})

test.each<{
  name: string
  round: number
  observed: string
  first: string[]
  second: Partial<ClusterAffinity>
  want: string[]
}>([
  {
    name: 'with new names, if the scheduler would skip the only group that fits, since it knows the names of an earlier round',
    round: 1,
    observed: 'b.1',
    first: ['m1', 'm2'],
    second: { clusterNames: ['m3'] },
    want: ['a-local.2', 'a.2', 'b.2'],
  },
  {
    name: 'with the same names, if it would skip this group by the names of the policy too',
    round: 0,
    observed: 'b',
    first: ['m1', 'm2'],
    second: { clusterNames: ['m3'] },
    want: ['a-local', 'a', 'b'],
  },
  {
    name: 'with the same names, if the group that it chose last may have other clusters',
    round: 1,
    observed: 'b.1',
    first: ['m1', 'm2'],
    second: { labelSelector: { matchLabels: { tier: 'core' } } },
    want: ['a-local.1', 'a.1', 'b.1'],
  },
  {
    name: 'with the same names, if no group fits',
    round: 1,
    observed: 'b.1',
    first: ['m3'],
    second: { clusterNames: ['m3'] },
    want: ['a.1', 'b.1'],
  },
])('a base is narrowed to preferred clusters $name', ({ round, observed, first, second, want }) => {
  const placement = {
    clusterAffinities: [
      { affinityName: 'a', clusterNames: first },
      { affinityName: 'b', ...second },
    ],
    replicaScheduling: { replicaSchedulingType: 'Divided' },
  }
  const preferred = [[first[0] ?? '']]
  const locality = { state: 'Narrowed', message: '', claims: [], preferred, ...(round > 0 && { round }) }
  const annotations = {
    'lodestone.dev/base-affinity': JSON.stringify(effectiveAffinity(placement)),
    'lodestone.dev/locality': JSON.stringify(locality),
  }
  const binding = makeBinding({ placement }, { annotations })
  const stored = { ...binding, status: { schedulerObservingAffinityName: observed } }
  const input = parseInput(makeInput({ binding: stored, stored, clusters: lookup('m1', 'm2', broken('m3')) }))
  const narrowing = narrowToFit(input, effectiveAffinity(placement), { preferred })
  const { clusterAffinities = [] } = narrowing.kind === 'narrowed' ? narrowing.affinity : {}
  expect(clusterAffinities.map(({ affinityName }) => affinityName)).toEqual(want)
})

describe('a preference of a workload whose replicas are divided over several clusters', () => {
  const divided = { replicaScheduling: { replicaSchedulingType: 'Divided' } }
  const anywhere: Placement = { clusterAffinity: { clusterNames: ['m1', 'm2', 'm3', 'm4'] }, ...divided }
  const moved = 'the replicas are divided over several clusters, and a preference moves none of them'

  interface Given {
    name: string
    runs: string[]
    /** The clusters with required data, if there is any. */
    required?: string[]
    observed?: string
    broken?: string[]
    want: string | undefined
  }

  test.each<Given>([
    { name: 'counts if all of them are in the first group', runs: ['m1', 'm2'], want: undefined },
    { name: 'moves one cluster to the first group', runs: ['m3'], want: undefined },
    { name: 'changes nothing if the scheduler would take those of the second group', runs: ['m1', 'm3'], want: moved },
    { name: 'changes nothing if the scheduler would take all of them', runs: ['m3', 'm4'], want: moved },
    {
      name: 'counts if the scheduler has chosen the second group before',
      runs: ['m3', 'm4'],
      observed: 'default-local-2',
      want: undefined,
    },
    {
      name: 'counts if the first group cannot take it',
      runs: ['m3', 'm4'],
      broken: ['m1', 'm2'],
      want: undefined,
    },
    {
      name: 'changes nothing if required data lets all of them stay',
      runs: ['m1', 'm3'],
      required: ['m1', 'm2', 'm3'],
      want: moved,
    },
    {
      name: 'counts if those that the first group lacks leave for required data in any case',
      runs: ['m1', 'm3'],
      required: ['m1', 'm2', 'm4'],
      want: undefined,
    },
  ])('$name', ({ runs, required, observed, broken: tainted = [], want }) => {
    const binding = {
      ...makeBinding({ placement: anywhere, replicas: 4, clusters: runs.map((name) => ({ name, replicas: 1 })) }),
      status: { ...(observed && { schedulerObservingAffinityName: observed }) },
    }
    const clusters = lookup(...['m1', 'm2', 'm3', 'm4'].map((name) => (tainted.includes(name) ? broken(name) : name)))
    const input = parseInput(makeInput({ binding, stored: binding, clusters }))
    const preferred = [
      ['m1', 'm2'],
      ['m3', 'm4'],
    ]
    const narrowing = narrowToFit(input, effectiveAffinity(anywhere), { ...(required && { required }), preferred })
    expect(narrowing.kind === 'narrowed' && narrowing.preferenceProblem).toBe(want)
  })

  test('leaves no group behind when it changes nothing, and keeps the required clusters', () => {
    const clusters = [
      { name: 'm1', replicas: 1 },
      { name: 'm3', replicas: 1 },
    ]
    const binding = makeBinding({ placement: anywhere, replicas: 4, clusters })
    const input = parseInput(makeInput({ binding, stored: binding, clusters: lookup('m1', 'm2', 'm3', 'm4') }))
    const preferred = [['m1', 'm2'], ['m3']]
    const constraint = { required: ['m1', 'm2', 'm3'], preferred }
    expect(narrowToFit(input, effectiveAffinity(anywhere), constraint)).toMatchObject({
      affinity: { clusterAffinity: { clusterNames: ['m1', 'm2', 'm3'] } },
      allowed: ['m1', 'm2', 'm3'],
      preferenceProblem: moved,
    })
  })

  test.each<{ name: string; preference: 'Cost' | 'Bytes'; data?: string[]; want: string | undefined }>([
    {
      name: 'counts if the clusters are ranked by bytes, since all of them have data',
      preference: 'Bytes',
      want: undefined,
    },
    { name: 'changes nothing if cheap clusters without data are ranked too', preference: 'Cost', want: moved },
    {
      name: 'counts if all of its clusters have data, ranked by cost',
      preference: 'Cost',
      data: ['m3', 'm4'],
      want: undefined,
    },
  ])('$name', ({ preference, data = ['m1'], want }) => {
    const clusters = [
      { name: 'm3', replicas: 1 },
      { name: 'm4', replicas: 1 },
    ]
    const binding = {
      ...makeBinding({ placement: anywhere, replicas: 4, clusters }),
      status: { schedulerObservingAffinityName: 'default-local-2' },
    }
    const claims = [located(data, { enforcement: 'Preferred', preference })]
    const input = parseInput(makeInput({ binding, stored: binding, claims, clusters: lookup('m1', 'm2', 'm3', 'm4') }))
    const narrowing = narrowToFit(input, effectiveAffinity(anywhere), { preferred: [['m1'], ['m3', 'm4']] })
    expect(narrowing.kind === 'narrowed' && narrowing.preferenceProblem).toBe(want)
  })
})
