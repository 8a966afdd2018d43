import { describe, expect, test } from 'vitest'
import { lookup, makeBinding, makeCluster, makeInput } from '../../../test/builders.ts'
import type { Placement } from '../../api/karmada.ts'
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
