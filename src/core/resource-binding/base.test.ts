import { describe, expect, test } from 'vitest'
import { located, makeBinding, makeInput, makePolicyInput, unknown } from '../../../test/builders.ts'
import type { PlacementAffinity, ResourceBinding } from '../../api/karmada.ts'
import { OUR_ANNOTATIONS, readAnnotations } from './annotations.ts'
import { decideBinding } from './decide.ts'
import type { BindingInput, PolicyInput } from './input.ts'

const one = (...clusterNames: string[]): PlacementAffinity => ({ clusterAffinity: { clusterNames } })
const three = one('member1', 'member2', 'member3')
const noted = (base: PlacementAffinity) => ({ annotations: { [OUR_ANNOTATIONS[0]]: JSON.stringify(base) } })

/** A binding as Lodestone left it: narrowed to where the data was, with the base in its annotation. */
function stored(base: PlacementAffinity = three, ...data: string[]): ResourceBinding {
  const claims = [located(data.length > 0 ? data : ['member2'])]
  return decideBinding(makeInput({ binding: makeBinding({ placement: base }), claims })).binding
}

/** The binding with another affinity, as the detector writes it: annotations stay. */
function overwritten(binding: ResourceBinding, placement: PlacementAffinity): ResourceBinding {
  return { ...binding, spec: { ...binding.spec, placement } }
}

/** The binding as the scheduler sends it back, with its result. */
function echoed(binding: ResourceBinding): ResourceBinding {
  return { ...binding, spec: { ...binding.spec, clusters: [{ name: 'member2', replicas: 2 }] } }
}

const lazy = (placement: PlacementAffinity): PolicyInput => makePolicyInput({ placement, lazy: true })
const known = (placement: PlacementAffinity): PolicyInput => makePolicyInput({ placement })

function outcome(input: Partial<BindingInput>): { base: unknown; affinity: unknown } {
  const { binding } = decideBinding(makeInput(input))
  return { base: readAnnotations(binding.metadata.annotations).base, affinity: binding.spec.placement }
}

describe('at creation', () => {
  test.each<{ name: string; input: Partial<BindingInput>; want: { base: unknown; affinity: unknown } }>([
    { name: 'the placement that comes is the base', input: {}, want: { base: three, affinity: one('member2') } },
    {
      name: 'even where it differs from the policy that we know',
      input: { policy: known(one('member2', 'member9')) },
      want: { base: three, affinity: one('member2') },
    },
    {
      name: 'no affinity is a base too',
      input: { binding: makeBinding({ placement: {} }) },
      want: { base: {}, affinity: one('member2') },
    },
    {
      name: 'of two affinities the one that the scheduler uses is the base',
      input: { binding: makeBinding({ placement: { ...three, clusterAffinities: [{ affinityName: 'a' }] } }) },
      want: { base: three, affinity: one('member2') },
    },
    {
      name: 'our own answer, asked about again, keeps its base',
      input: { binding: stored() },
      want: { base: three, affinity: one('member2') },
    },
    {
      name: 'our own answer keeps its base where a policy agrees',
      input: { binding: stored(), policy: known(three) },
      want: { base: three, affinity: one('member2') },
    },
    {
      name: 'a base that another writer set there does not count when the decision for it differs',
      input: { binding: makeBinding({ placement: one('member1', 'member2') }, noted({})) },
      want: { base: one('member1', 'member2'), affinity: one('member2') },
    },
    {
      name: 'a base that a requester wrote there stays as long as it changes nothing: it may be our own first answer',
      input: { binding: makeBinding({ placement: one('member2') }, noted({})), policy: known(three) },
      want: { base: {}, affinity: one('member2') },
    },
    {
      name: 'a base that cannot be read does not count',
      input: { binding: makeBinding({ placement: one('member2') }, { annotations: { [OUR_ANNOTATIONS[0]]: '{' } }) },
      want: { base: one('member2'), affinity: one('member2') },
    },
  ])('$name', ({ input, want }) => {
    expect(outcome(input)).toEqual(want)
  })
})

describe('at an update', () => {
  const two = one('member1', 'member2')

  test.each<{ name: string; input: Partial<BindingInput>; want: { base: unknown; affinity: unknown } }>([
    {
      name: "the detector's overwrite is narrowed again",
      input: { binding: overwritten(stored(), three), stored: stored() },
      want: { base: three, affinity: one('member2') },
    },
    {
      name: 'a policy that was cut down is the new base',
      input: { binding: overwritten(stored(), two), stored: stored() },
      want: { base: two, affinity: one('member2') },
    },
    {
      name: 'so it is when our cache does not have it yet',
      input: { binding: overwritten(stored(), two), stored: stored(), policy: known(three) },
      want: { base: two, affinity: one('member2') },
    },
    {
      name: "the scheduler's echo keeps the annotated base when no policy is known",
      input: { binding: echoed(stored()), stored: stored() },
      want: { base: three, affinity: one('member2') },
    },
    {
      name: "the scheduler's echo takes the policy's base when it is known",
      input: { binding: echoed(stored()), stored: stored(), policy: known(two) },
      want: { base: two, affinity: one('member2') },
    },
    {
      name: 'a lazy policy that changed does not reach the binding with an echo',
      input: { binding: echoed(stored()), stored: stored(), policy: lazy(one('member1')) },
      want: { base: three, affinity: one('member2') },
    },
    {
      name: "a lazy policy's placement reaches it when the detector writes it",
      input: { binding: overwritten(stored(), two), stored: stored(), policy: lazy(two) },
      want: { base: two, affinity: one('member2') },
    },
    {
      name: 'an echo that lost our annotations keeps the stored base',
      input: { binding: makeBinding({ placement: one('member2') }), stored: stored() },
      want: { base: three, affinity: one('member2') },
    },
    {
      name: 'data that moved is looked for in the base, not in the narrowed affinity',
      input: { binding: echoed(stored()), stored: stored(), claims: [located(['member3'])] },
      want: { base: three, affinity: one('member3') },
    },
    {
      name: 'an affinity that was stored before Lodestone decided on the binding is its own base',
      input: { binding: makeBinding(), stored: makeBinding() },
      want: { base: three, affinity: one('member2') },
    },
  ])('$name', ({ input, want }) => {
    expect(outcome(input)).toEqual(want)
  })

  test.each<{ name: string; policy: PolicyInput | undefined }>([
    { name: 'no policy is known', policy: undefined },
    { name: 'the policy is known', policy: known(two) },
    { name: 'the policy is lazy', policy: lazy(two) },
  ])(
    'our answer to a new base that is stored already, asked about again, keeps the new base when $name',
    ({ policy }) => {
      // The detector cut the base down. The decision is the stored affinity, and a later webhook causes a reinvocation.
      const before = stored()
      const first = decideBinding(makeInput({ binding: overwritten(before, two), stored: before, policy }))
      const again = outcome({ binding: first.binding, stored: before, policy })
      expect(again).toEqual({ base: two, affinity: one('member2') })
    },
  )

  test('a new base holds even when the data came to a cluster outside of it', () => {
    const before = stored()
    const claims = [located(['member2', 'member3'])]
    const first = decideBinding(makeInput({ binding: overwritten(before, two), stored: before, claims }))
    expect(outcome({ binding: first.binding, stored: before, claims })).toEqual({ base: two, affinity: one('member2') })
  })

  test('a forged base never widens beyond a policy that is in force', () => {
    const before = stored()
    const forged = { ...before, metadata: { ...before.metadata, ...noted({}) } }
    const moved = [located(['member9'])]
    const policy = known(three)
    expect(outcome({ binding: forged, stored: before, policy }).affinity).toEqual(one('member2'))
    expect(outcome({ binding: forged, stored: forged, policy })).toEqual({ base: three, affinity: one('member2') })
    expect(outcome({ binding: forged, stored: forged, policy, claims: moved }).affinity).toEqual(three)
  })

  test('a forged base never widens beyond a lazy policy', () => {
    const before = stored()
    const forged = { ...before, metadata: { ...before.metadata, ...noted({}) } }
    const got = outcome({ binding: forged, stored: forged, policy: lazy(three), claims: [located(['member9'])] })
    expect(got.affinity).toEqual(one('member2'))
  })
})

describe('when the last claim is gone', () => {
  const gone = { claims: [] }

  test.each<{ name: string; input: Partial<BindingInput>; want: PlacementAffinity }>([
    { name: 'the annotated base is back', input: { binding: stored(), stored: stored() }, want: three },
    {
      name: "the policy's base is back where it is known",
      input: { binding: stored(), stored: stored(), policy: known(one('member1', 'member2')) },
      want: one('member1', 'member2'),
    },
    {
      name: 'what the detector writes stays',
      input: { binding: overwritten(stored(), one('member5')), stored: stored() },
      want: one('member5'),
    },
    {
      name: 'a base outside a lazy policy is not brought back',
      input: { binding: stored({}), stored: stored({}), policy: lazy(three) },
      want: one('member2'),
    },
  ])('$name, and our annotations are gone', ({ input, want }) => {
    const { state, binding } = decideBinding(makeInput({ ...input, ...gone }))
    expect({ state, placement: binding.spec.placement, annotations: binding.metadata.annotations }).toEqual({
      state: 'Restored',
      placement: want,
      annotations: makeBinding().metadata.annotations,
    })
  })

  test('a hold of Lodestone is lifted, and a second decision changes nothing', () => {
    const held = decideBinding(makeInput({ claims: [unknown()] })).binding
    const { binding } = decideBinding(makeInput({ binding: held, stored: held, ...gone }))
    expect(binding).toEqual(makeBinding())
    expect(decideBinding(makeInput({ binding, stored: held, ...gone })).binding).toBe(binding)
    expect(decideBinding(makeInput({ binding, stored: binding, ...gone }))).toEqual({
      state: 'Untouched',
      binding,
      message: '',
    })
  })
})

describe('when the loop of another replica writes, from claims and sources that this one has not seen yet', () => {
  const before = makeBinding()
  const old = stored(three, 'member1')
  const sent = (from: ResourceBinding, data: string) =>
    decideBinding(makeInput({ binding: from, stored: from, claims: [located([data])] })).binding

  test.each<{ name: string; input: Partial<BindingInput>; want: { base: unknown; affinity: unknown } }>([
    {
      name: 'a claim: the write is undone',
      input: { binding: sent(before, 'member2'), stored: before, claims: [] },
      want: { base: undefined, affinity: three },
    },
    {
      name: 'a location: it is held',
      input: { binding: sent(before, 'member2'), stored: before, claims: [unknown()] },
      want: { base: undefined, affinity: three },
    },
    {
      name: 'a move: it stays',
      input: { binding: sent(old, 'member2'), stored: old, claims: [located(['member1'])] },
      want: { base: three, affinity: one('member1') },
    },
  ])('the base stays. $name', ({ input, want }) => {
    expect(outcome(input)).toEqual(want)
  })

  test('a policy that is known is not left for what it says', () => {
    const input = { binding: sent(before, 'member2'), stored: before, claims: [], policy: known(one('member2')) }
    expect(outcome(input)).toEqual({ base: undefined, affinity: one('member2') })
  })

  test('an affinity that its annotation does not explain is a new base', () => {
    const binding = overwritten(sent(before, 'member2'), one('member1', 'member2'))
    expect(outcome({ binding, stored: before })).toEqual({ base: one('member1', 'member2'), affinity: one('member2') })
  })
})
