import { describe, expect, test } from 'vitest'
import {
  located,
  lookup,
  makeBinding,
  makeCluster,
  makeInput,
  makePolicyInput,
  NOW,
  nowhere,
  unknown,
} from '../../../test/builders.ts'
import type { PlacementAffinity, ResourceBinding } from '../../api/karmada.ts'
import { HOLD_ANNOTATION, LOCALITY_ANNOTATION } from '../../api/lodestone.ts'
import type { ClaimAnswer } from '../data-source/locate.ts'
import { decidePlacement } from './decide-placement.ts'
import type { BindingInput } from './input.ts'
import { parseInput } from './parse-input.ts'
import type { PlacementDecision } from './placement-decision.ts'
import { holdTooLarge, lacksRequiredClaim } from './rules/not-scheduled.ts'

const one = (...clusterNames: string[]): PlacementAffinity => ({ clusterAffinity: { clusterNames } })
const base = one('m1', 'm2', 'm3')
const UNRESOLVED = 'default/sales: no DataSource yet'
const ELSEWHERE = 'the data is in other clusters; the loop moves the workload later'
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
const summary = ({ state, affinity, annotations, message }: PlacementDecision) => ({
  state,
  message,
  affinity,
  written: Object.keys(annotations).filter((key) => annotations[key as keyof typeof annotations] !== undefined),
})

describe('a workload that is not scheduled', () => {
  test.each<{ name: string; given: Partial<BindingInput>; want: ReturnType<typeof summary> }>([
    {
      name: 'is narrowed to its data',
      given: { claims: [located(['m2', 'm9'])] },
      want: {
        state: 'Narrowed',
        message: 'default/sales is in m2, m9',
        affinity: one('m2'),
        written: ['base', 'locality'],
      },
    },
    {
      name: 'is narrowed, and told why its preferred data does not decide',
      given: { claims: [located(['m2', 'm3']), located(['m3'], { claim: 'default/b', enforcement: 'Preferred' })] },
      want: {
        state: 'Narrowed',
        message:
          'default/b is in m3; default/sales is in m2, m3; the policy runs a copy in each of its clusters (Duplicated), and a preference removes no copy',
        affinity: one('m2', 'm3'),
        written: ['base', 'locality'],
      },
    },
    {
      name: 'is on hold while the location is unknown',
      given: { claims: [unknown()] },
      want: { state: 'OnHold', message: UNRESOLVED, affinity: base, written: ['hold'] },
    },
    {
      name: 'continues without its data if the claim allows it',
      given: { claims: [unknown({ onUnresolved: 'Ignore' })] },
      want: { state: 'Ignored', message: UNRESOLVED, affinity: base, written: [] },
    },
    {
      name: 'is on hold while its data does not exist',
      given: { claims: [nowhere()] },
      want: {
        state: 'OnHold',
        message: 'default/sales: DataSource sales is Unavailable',
        affinity: base,
        written: ['hold'],
      },
    },
    {
      name: 'is on hold while the policy allows no cluster with the data',
      given: { claims: [located(['m9'])] },
      want: {
        state: 'OnHold',
        message: 'default/sales (m9): the data is in m9, which the policy does not allow',
        affinity: base,
        written: ['hold'],
      },
    },
    {
      name: 'is on hold while its policy requires a claim and there is none',
      given: { claims: [], policy: makePolicyInput({ requiresClaim: true }) },
      want: {
        state: 'OnHold',
        message: 'the policy requires a DataSourceClaim for this workload; create one',
        affinity: base,
        written: ['hold'],
      },
    },
    {
      name: 'gets its base without a claim',
      given: { claims: [] },
      want: { state: 'Restored', message: 'no claim is left for this workload', affinity: base, written: [] },
    },
    {
      name: 'is not narrowed for preferred data with an unknown location',
      given: { claims: [unknown({ enforcement: 'Preferred' })] },
      want: { state: 'Ignored', message: UNRESOLVED, affinity: base, written: [] },
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
        want: { state: 'Kept', message: UNRESOLVED, affinity: one('m2'), written: ['base', 'locality'] },
      },
      {
        name: 'moves with its data',
        binding: runningIn('m2', ['m2']),
        given: { claims: [located(['m3'])] },
        want: {
          state: 'Narrowed',
          message: 'default/sales is in m3',
          affinity: one('m3'),
          written: ['base', 'locality'],
        },
      },
      {
        name: 'stays if rebalance forbids the move',
        binding: runningIn('m2', ['m2']),
        given: { claims: [located(['m3'], { rebalance: 'Never' })] },
        want: {
          state: 'Kept',
          message: 'the data moved; rebalance of default/sales is Never',
          affinity: one('m2'),
          written: ['base', 'locality'],
        },
      },
      {
        name: 'is not moved by admission, but by the loop',
        binding: runningIn('m2', ['m2']),
        given: { claims: [located(['m3'])], leavesMovesToLoop: true },
        want: { state: 'Kept', message: ELSEWHERE, affinity: one('m2'), written: ['base', 'locality'] },
      },
      {
        name: 'without a narrowing is not moved by admission, but by the loop',
        binding: runningIn('m2'),
        given: { claims: [located(['m3'])], leavesMovesToLoop: true },
        want: { state: 'Ignored', message: ELSEWHERE, affinity: base, written: [] },
      },
      {
        name: 'is never suspended',
        binding: runningIn('m2'),
        given: { claims: [unknown()] },
        want: { state: 'Ignored', message: UNRESOLVED, affinity: base, written: [] },
      },
      {
        name: 'keeps its clusters if all of them are being evicted',
        binding: {
          ...runningIn('m2', ['m2']),
          spec: { ...runningIn('m2', ['m2']).spec, gracefulEvictionTasks: [{ fromCluster: 'm2' }] } as never,
        },
        given: { claims: [located(['m2'])] },
        want: {
          state: 'Relaxed',
          message: 'no cluster with the data can take the workload: m2 is being evicted',
          affinity: base,
          written: ['base', 'locality'],
        },
      },
      {
        name: 'does not move back after an eviction if rebalance forbids it',
        binding: runningIn('m1', ['m2'], 'Relaxed'),
        given: { claims: [located(['m2'], { rebalance: 'Never' })] },
        want: {
          state: 'Relaxed',
          message:
            'the base affinity applies since an eviction, a change of the policy or a lack of room; rebalance of default/sales is Never',
          affinity: base,
          written: ['base', 'locality'],
        },
      },
      {
        name: 'gets its base if the policy no longer allows its old clusters',
        binding: runningIn('m9', ['m9']),
        given: { claims: [unknown()] },
        want: {
          state: 'Relaxed',
          message: `${UNRESOLVED}; the policy no longer allows the clusters of the last narrowing`,
          affinity: base,
          written: ['base', 'locality'],
        },
      },
    ],
  )('$name', ({ binding, given, want }) => {
    expect(at(binding, given)).toEqual(want)
  })
})

const evictedFrom = (...clusters: string[]) => ({
  gracefulEvictionTasks: clusters.map((fromCluster) => ({ fromCluster })),
})

test('a message names every cluster with the data that is being evicted', () => {
  const binding = runningIn('m2', ['m1', 'm2'])
  const evicted = { ...binding, spec: { ...binding.spec, ...evictedFrom('m1', 'm2') } } as ResourceBinding
  expect(decide({ binding: evicted, stored: evicted, claims: [located(['m1', 'm2'])] }).message).toBe(
    'no cluster with the data can take the workload: m1 is being evicted, m2 is being evicted',
  )
})

describe('admission, if moves are left to the loop,', () => {
  const stateOf = (binding: ResourceBinding, claims: ClaimAnswer[]) =>
    decide({ binding, stored: binding, claims, leavesMovesToLoop: true }).state

  test('keeps a workload that would lose one of its clusters', () => {
    const binding = runningIn('m2', ['m2', 'm3'])
    const inBoth = { ...binding, spec: { ...binding.spec, clusters: [{ name: 'm2' }, { name: 'm3' }] } }
    expect(stateOf(inBoth, [located(['m2'])])).toBe('Kept')
  })

  test('leaves a workload that only prefers its data where it is: the loop moves it', () => {
    const binding = runningIn('m2')
    const placement = { ...binding.spec.placement, replicaScheduling: { replicaSchedulingType: 'Divided' } }
    const divided = { ...binding, spec: { ...binding.spec, placement } }
    const preferred = [located(['m3'], { enforcement: 'Preferred' })]
    expect([stateOf(divided, preferred), stateOf(binding, preferred)]).toEqual(['Ignored', 'Kept'])
    const there = [located(['m2'], { enforcement: 'Preferred' })]
    expect(stateOf(divided, there)).toBe('Narrowed')
  })

  test('narrows a workload without clusters after an eviction', () => {
    const binding = makeBinding({ placement: base, ...evictedFrom('m2') } as never)
    expect(stateOf(binding, [located(['m3'])])).toBe('Narrowed')
  })
})

test.each<{ name: string; given: Partial<BindingInput>; want: object }>([
  { name: 'required', given: { claims: [located(['m2'])] }, want: { required: ['m2'] } },
  {
    name: 'preferred',
    given: { claims: [located(['m2'], { enforcement: 'Preferred' })] },
    want: { preferred: [['m2']] },
  },
  {
    name: 'in a digest',
    given: {
      claims: [unknown()],
      binding: makeBinding(
        { placement: one('m2'), clusters: [{ name: 'm2' }] },
        {
          annotations: {
            [LOCALITY_ANNOTATION]: JSON.stringify({
              state: 'Narrowed',
              message: 'm',
              claims: [],
              requiredDigest: 'f'.repeat(16),
            }),
          },
        },
      ),
    },
    want: { required: ['m2'], requiredDigest: 'f'.repeat(16) },
  },
])('the locality annotation has only the clusters that are $name', ({ given, want }) => {
  const { state, message, annotations } = decide(given)
  expect(annotations.locality).toStrictEqual({ state, message, claims: ['default/sales'], ...want })
})

test('a decision that does not fit into the binding holds the workload, with a remedy', () => {
  const message =
    'default/sales (member2): the decision does not fit into the annotations or the 1572864 bytes of the binding; use fewer or shorter cluster affinities, or fewer annotations'
  expect(holdTooLarge(parseInput(makeInput()), base)).toEqual({
    state: 'OnHold',
    affinity: base,
    message,
    annotations: { hold: { message, reason: 'Unsatisfiable', since: new Date(NOW).toISOString() } },
  })
})

test.each([
  { name: 'without a claim', given: { claims: [] }, want: true },
  { name: 'with a claim', given: { claims: [unknown()] }, want: false },
  { name: 'that is scheduled', given: { claims: [], binding: runningIn('m1') }, want: false },
])('a policy that requires a claim holds a workload $name: $want', ({ given, want }) => {
  const policy = makePolicyInput({ requiresClaim: true })
  expect(lacksRequiredClaim(parseInput(makeInput({ ...given, policy })))).toBe(want)
})

describe('while claims are not available, a workload without a known claim', () => {
  const claimsUnknown = 'the CRD is being deleted'
  const decideUnknown = (binding: ResourceBinding, given: Partial<BindingInput> = {}) =>
    decide({ claims: [], claimsUnknown, binding, stored: binding, ...given })
  const hold = { message: UNRESOLVED, reason: 'Unresolved', since: new Date(NOW).toISOString() }
  const onHold = (more: object = {}) =>
    makeBinding(
      { placement: base, suspension: { scheduling: true } },
      { annotations: { [HOLD_ANNOTATION]: JSON.stringify({ ...hold, ...more }) } },
    )

  test('keeps its narrowing, and the names of its claims', () => {
    const decision = decideUnknown(runningIn('m2', ['m2']))
    expect(summary(decision)).toEqual({
      state: 'Kept',
      message: claimsUnknown,
      affinity: one('m2'),
      written: ['base', 'locality'],
    })
    expect(decision.annotations.locality?.claims).toEqual(['default/sales'])
  })

  test('keeps its narrowing before it is scheduled', () => {
    const narrowed = runningIn('m2', ['m2'])
    const binding = { ...narrowed, spec: { ...narrowed.spec, clusters: [] } }
    expect(decideUnknown(binding)).toMatchObject({ state: 'Kept', affinity: one('m2') })
  })

  test('is on hold if it does not run, and the clusters of its narrowing cannot take it', () => {
    const narrowed = runningIn('m2', ['m2'])
    const binding = { ...narrowed, spec: { ...narrowed.spec, clusters: [] } }
    const clusters = lookup('m1', makeCluster('m2', { taints: [{ key: 'k', effect: 'NoSchedule' }] }))
    const decision = decideUnknown(binding, { clusters })
    expect(decision).toMatchObject({ state: 'OnHold', message: claimsUnknown })
    expect(decision.annotations.hold?.reason).toBe('Unresolved')
  })

  test('stays relaxed', () => {
    const decision = decideUnknown(runningIn('m1', ['m2'], 'Relaxed'))
    expect(decision).toMatchObject({ state: 'Relaxed', affinity: base, message: 'm' })
  })

  test('stays on hold, with the cause and the beginning of the hold', () => {
    expect(decideUnknown(onHold())).toEqual({
      state: 'OnHold',
      affinity: base,
      annotations: { hold },
      message: UNRESOLVED,
    })
  })

  test('stays released after its hold', () => {
    expect(decideUnknown(onHold({ released: true }))).toMatchObject({ state: 'Released', affinity: base })
  })

  test('is on hold if its policy requires a claim', () => {
    const policy = makePolicyInput({ requiresClaim: true })
    expect(decideUnknown(makeBinding(), { policy })).toMatchObject({ state: 'OnHold' })
  })

  test('is left as it is if it has neither', () => {
    expect(decideUnknown(runningIn('m1'))).toMatchObject({ affinity: base, annotations: {} })
  })

  test('with a known claim is narrowed as before', () => {
    const binding = runningIn('m2', ['m2'])
    expect(decideUnknown(binding, { claims: [located(['m2'])] })).toMatchObject({
      state: 'Narrowed',
      affinity: one('m2'),
    })
  })
})
