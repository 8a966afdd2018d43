/** The acceptance oracles of data locality for bindings. Oracle J is next to the keys and the validation of the claim. */
import { describe, expect, test } from 'vitest'
import { located, lookup, makeBinding, makeInput, makePolicyInput, NOW } from '../../../test/builders.ts'
import type { Placement, ResourceBinding } from '../../api/karmada.ts'
import { diffJson } from '../admission/diff.ts'
import type { ClaimAnswer } from '../data-source/locate.ts'
import type { ClusterLookup } from '../placement/affinity.ts'
import { decideBinding } from './decide.ts'

const one = (...clusterNames: string[]): Placement => ({ clusterAffinity: { clusterNames } })
const a = located(['c1', 'c2'], { claim: 'default/a' })
const b = located(['c2', 'c3'], { claim: 'default/b' })
const orders: [name: string, claims: ClaimAnswer[]][] = [
  ['A before B', [a, b]],
  ['B before A', [b, a]],
]

/** Decides, then decides on the result `rounds` more times, as a new or as a stored binding. */
function decideRepeatedly(binding: ResourceBinding, claims: ClaimAnswer[], rounds: number): ResourceBinding {
  let decided = decideBinding(makeInput({ binding, claims })).binding
  for (let i = 0; i < rounds; i++) {
    decided = decideBinding(makeInput({ binding: decided, stored: i % 2 === 0 ? undefined : decided, claims })).binding
  }
  return decided
}

describe('oracle A: two required claims', () => {
  describe.each(orders)('%s', (_name, claims) => {
    test.each([0, 1, 5])('leave exactly the cluster that has both, after %d more decisions', (rounds) => {
      expect(decideRepeatedly(makeBinding({ placement: {} }), claims, rounds).spec.placement).toEqual(one('c2'))
    })

    test('leave only clusters that the policy allows', () => {
      const policy = makePolicyInput({ placement: one('c2', 'c9') })
      const input = makeInput({ binding: makeBinding({ placement: one('c2', 'c9') }), claims, policy })
      expect(decideBinding(input).binding.spec.placement).toEqual(one('c2'))
    })

    test('hold the binding if no allowed cluster has both, and leave no empty list', () => {
      const { state, binding } = decideBinding(makeInput({ binding: makeBinding({ placement: one('c9') }), claims }))
      expect({ state, placement: binding.spec.placement, suspension: binding.spec.suspension }).toEqual({
        state: 'OnHold',
        placement: one('c9'),
        suspension: { scheduling: true },
      })
    })
  })
})

describe('oracle B: groups', () => {
  const groups: Placement = {
    clusterAffinities: [
      { affinityName: 'g1', clusterNames: ['c1', 'c4'] },
      { affinityName: 'g2', clusterNames: ['c2'] },
    ],
  }
  const decide = (...data: string[]) =>
    decideBinding(makeInput({ binding: makeBinding({ placement: groups }), claims: [located(data)] }))

  test('are narrowed one by one, and clusterAffinity stays absent', () => {
    expect(decide('c2', 'c4').binding.spec.placement).toEqual({
      clusterAffinities: [
        { affinityName: 'g1', clusterNames: ['c4'] },
        { affinityName: 'g2', clusterNames: ['c2'] },
      ],
    })
  })

  test('without a cluster are removed', () => {
    expect(decide('c2').binding.spec.placement).toEqual({
      clusterAffinities: [{ affinityName: 'g2', clusterNames: ['c2'] }],
    })
  })

  test('that are all without a cluster hold the binding as it is', () => {
    const { state, binding } = decide('c9')
    expect([state, binding.spec.placement, binding.spec.suspension]).toEqual(['OnHold', groups, { scheduling: true }])
  })
})

describe('oracle C: the detector resets the placement and keeps the annotations', () => {
  const placements: [name: string, placement: Placement][] = [
    ['names', one('c1', 'c2', 'c3')],
    ['no affinity', {}],
    ['groups', { clusterAffinities: [{ affinityName: 'g1', clusterNames: ['c1', 'c2'] }] }],
  ]

  test.each(placements)(
    'of %s: the same object is returned, and the stored placement does not change',
    (_name, placement) => {
      const claims = [a, b]
      const stored = decideBinding(makeInput({ binding: makeBinding({ placement }), claims })).binding
      const reset = { ...stored, spec: { ...stored.spec, placement } }
      const { binding } = decideBinding(makeInput({ binding: reset, stored, claims, now: NOW + 1000 }))
      expect(binding).toEqual(stored)
      expect(diffJson(stored.spec, binding.spec)).toEqual([])
    },
  )
})

describe('oracle D: clusters join and leave', () => {
  const claims = [located(['c1', 'c2'])]
  const decide = (clusters: ClusterLookup, stored?: ResourceBinding) =>
    decideBinding(makeInput({ binding: stored ?? makeBinding({ placement: {} }), stored, claims, clusters })).binding
  const before = decide(lookup('c1', 'c2'))
  const running = { ...before, spec: { ...before.spec, clusters: [{ name: 'c1', replicas: 2 }] } }

  test('a new cluster without the data is not eligible, and nothing is written', () => {
    expect(decide(lookup('c1', 'c2', 'c3'), running)).toBe(running)
  })

  test('a cluster that leaves removes only itself: workloads in the others stay', () => {
    const after = decide(lookup('c1', 'c3'), running)
    expect([after.spec.placement, after.spec.clusters]).toEqual([one('c1'), running.spec.clusters])
  })

  test('a cluster that joins again is eligible again', () => {
    expect(decide(lookup('c1', 'c2'), decide(lookup('c1'), running)).spec.placement).toEqual(one('c1', 'c2'))
  })

  test('a cluster that leaves elsewhere changes nothing', () => {
    expect(decide(lookup('c1', 'c2'), decide(lookup('c1', 'c2', 'c3'), running))).toBe(running)
  })
})

describe('oracle F: two required claims and two terms of the user', () => {
  const claims = [
    located(['c1', 'c2', 'c3'], { claim: 'default/a' }),
    located(['c2', 'c3', 'c4'], { claim: 'default/b' }),
  ]
  const binding = makeBinding({
    placement: {
      clusterAffinities: [
        { affinityName: 'first', clusterNames: ['c1', 'c2'], unknownField: { kept: true } },
        { affinityName: 'second', labelSelector: { matchLabels: { tier: 'core' } }, clusterNames: ['c3', 'c4'] },
      ],
      clusterTolerations: [{ key: 'a', operator: 'Exists' }],
    } as Placement,
  })
  const decided = decideBinding(makeInput({ binding, claims })).binding

  test('both constrain each of the two terms', () => {
    const names = decided.spec.placement?.clusterAffinities?.map(({ affinityName, clusterNames }) => ({
      affinityName,
      clusterNames,
    }))
    expect(names).toEqual([
      { affinityName: 'first', clusterNames: ['c2'] },
      { affinityName: 'second', clusterNames: ['c3'] },
    ])
  })

  test('a second call changes nothing', () => {
    expect(decideBinding(makeInput({ binding: decided, claims })).binding).toBe(decided)
    expect(decideBinding(makeInput({ binding: decided, stored: decided, claims })).binding).toBe(decided)
  })

  test('unknown fields survive', () => {
    expect(decided.spec.placement).toMatchObject({
      clusterAffinities: [{ affinityName: 'first' }, { labelSelector: { matchLabels: { tier: 'core' } } }],
      clusterTolerations: [{ key: 'a', operator: 'Exists' }],
    })
    expect(decided.spec.placement?.clusterAffinities?.[0]).toHaveProperty('unknownField', { kept: true })
  })
})
