import { describe, expect, test } from 'vitest'
import { located, makeBinding, makeInput, makePolicyInput, nowhere, unknown } from '../../../test/builders.ts'
import type { PlacementAffinity, ResourceBinding } from '../../api/karmada.ts'
import { LOCALITY_ANNOTATION } from '../../api/lodestone.ts'
import { decidePlacement, holdTooLarge, lacksRequiredClaim, type PlacementDecision } from './decide-placement.ts'
import type { BindingInput } from './input.ts'
import { parseInput } from './parse-input.ts'

const one = (...clusterNames: string[]): PlacementAffinity => ({ clusterAffinity: { clusterNames } })
const base = one('m1', 'm2', 'm3')
const runningIn = (name: string, required?: string[], state = 'Narrowed'): ResourceBinding =>
  makeBinding(
    { placement: required ? one(...required) : base, clusters: [{ name, replicas: 2 }] },
    required && {
      annotations: {
        [LOCALITY_ANNOTATION]: JSON.stringify({ state, message: 'm', claims: ['default/sales'], required }),
      },
    },
  )
const decide = (given: Partial<BindingInput>) => decidePlacement(parseInput(makeInput(given)), base)
const summary = ({ state, affinity, annotations }: PlacementDecision) => ({
  state,
  affinity,
  written: Object.keys(annotations).filter((key) => annotations[key as keyof typeof annotations] !== undefined),
})

describe('a workload that is not scheduled', () => {
  test.each<{ name: string; given: Partial<BindingInput>; want: ReturnType<typeof summary> }>([
    {
      name: 'is narrowed to its data',
      given: { claims: [located(['m2', 'm9'])] },
      want: { state: 'Narrowed', affinity: one('m2'), written: ['base', 'locality'] },
    },
    {
      name: 'is on hold while the location is unknown',
      given: { claims: [unknown()] },
      want: { state: 'OnHold', affinity: base, written: ['hold'] },
    },
    {
      name: 'continues without its data if the claim allows it',
      given: { claims: [unknown({ onUnresolved: 'Ignore' })] },
      want: { state: 'Ignored', affinity: base, written: [] },
    },
    {
      name: 'is on hold while its data does not exist',
      given: { claims: [nowhere()] },
      want: { state: 'OnHold', affinity: base, written: ['hold'] },
    },
    {
      name: 'is on hold while the policy allows no cluster with the data',
      given: { claims: [located(['m9'])] },
      want: { state: 'OnHold', affinity: base, written: ['hold'] },
    },
    {
      name: 'is on hold while its policy requires a claim and there is none',
      given: { claims: [], policy: makePolicyInput({ requiresClaim: true }) },
      want: { state: 'OnHold', affinity: base, written: ['hold'] },
    },
    {
      name: 'gets its base without a claim',
      given: { claims: [] },
      want: { state: 'Restored', affinity: base, written: [] },
    },
    {
      name: 'is not narrowed for preferred data with an unknown location',
      given: { claims: [unknown({ enforcement: 'Preferred' })] },
      want: { state: 'Ignored', affinity: base, written: [] },
    },
  ])('$name', ({ given, want }) => {
    expect(summary(decide(given))).toEqual(want)
  })
})

describe('a scheduled workload', () => {
  const at = (binding: ResourceBinding, given: Partial<BindingInput>) =>
    summary(decide({ binding, stored: binding, ...given }))

  test.each<{ name: string; binding: ResourceBinding; given: Partial<BindingInput>; want: ReturnType<typeof summary> }>(
    [
      {
        name: 'keeps its narrowing while the location is unknown',
        binding: runningIn('m2', ['m2']),
        given: { claims: [unknown()] },
        want: { state: 'Kept', affinity: one('m2'), written: ['base', 'locality'] },
      },
      {
        name: 'moves with its data',
        binding: runningIn('m2', ['m2']),
        given: { claims: [located(['m3'])] },
        want: { state: 'Narrowed', affinity: one('m3'), written: ['base', 'locality'] },
      },
      {
        name: 'stays if rebalance forbids the move',
        binding: runningIn('m2', ['m2']),
        given: { claims: [located(['m3'], { rebalance: 'Never' })] },
        want: { state: 'Kept', affinity: one('m2'), written: ['base', 'locality'] },
      },
      {
        name: 'is not moved by admission, but by the loop',
        binding: runningIn('m2', ['m2']),
        given: { claims: [located(['m3'])], leavesMovesToLoop: true },
        want: { state: 'Kept', affinity: one('m2'), written: ['base', 'locality'] },
      },
      {
        name: 'without a narrowing is not moved by admission, but by the loop',
        binding: runningIn('m2'),
        given: { claims: [located(['m3'])], leavesMovesToLoop: true },
        want: { state: 'Ignored', affinity: base, written: [] },
      },
      {
        name: 'is never suspended',
        binding: runningIn('m2'),
        given: { claims: [unknown()] },
        want: { state: 'Ignored', affinity: base, written: [] },
      },
      {
        name: 'keeps its clusters if all of them are being evicted',
        binding: {
          ...runningIn('m2', ['m2']),
          spec: { ...runningIn('m2', ['m2']).spec, gracefulEvictionTasks: [{ fromCluster: 'm2' }] } as never,
        },
        given: { claims: [located(['m2'])] },
        want: { state: 'Relaxed', affinity: base, written: ['base', 'locality'] },
      },
      {
        name: 'does not move back after an eviction if rebalance forbids it',
        binding: runningIn('m1', ['m2'], 'Relaxed'),
        given: { claims: [located(['m2'], { rebalance: 'Never' })] },
        want: { state: 'Relaxed', affinity: base, written: ['base', 'locality'] },
      },
      {
        name: 'gets its base if the policy no longer allows its old clusters',
        binding: runningIn('m9', ['m9']),
        given: { claims: [unknown()] },
        want: { state: 'Relaxed', affinity: base, written: ['base', 'locality'] },
      },
    ],
  )('$name', ({ binding, given, want }) => {
    expect(at(binding, given)).toEqual(want)
  })
})

test('a decision that does not fit into the annotations puts the workload on hold, with the remedy', () => {
  const { state, annotations } = holdTooLarge(parseInput(makeInput()), base)
  expect([state, annotations.hold?.message]).toEqual(['OnHold', expect.stringContaining('fewer annotations')])
})

test.each([
  { name: 'without a claim', given: { claims: [] }, want: true },
  { name: 'with a claim', given: { claims: [unknown()] }, want: false },
  { name: 'that is scheduled', given: { claims: [], binding: runningIn('m1') }, want: false },
])('a policy that requires a claim holds a workload $name: $want', ({ given, want }) => {
  const policy = makePolicyInput({ requiresClaim: true })
  expect(lacksRequiredClaim(parseInput(makeInput({ ...given, policy })))).toBe(want)
})
