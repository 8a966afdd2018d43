import { describe, expect, test } from 'vitest'
import { located, lookup, makeBinding, makeCluster, makeInput, unknown } from '../../../../test/builders.ts'
import { known, labeled, lazy, one, outcome, overwritten, stored, three } from '../../../../test/recorded-base.ts'
import type { PlacementAffinity, ResourceBinding } from '../../../api/karmada.ts'
import { OUR_ANNOTATIONS, readAnnotations } from '../annotations.ts'
import { decideBinding } from '../decide.ts'
import type { BindingInput, PolicyInput } from '../input.ts'
import { parseInput } from '../parse-input.ts'
import { baseCandidates, differsFromPolicy } from './candidates.ts'

const annotated = (base: PlacementAffinity) => ({ annotations: { [OUR_ANNOTATIONS[0]]: JSON.stringify(base) } })

/** The binding as the scheduler sends it back, with its result. */
function echoed(binding: ResourceBinding): ResourceBinding {
  return { ...binding, spec: { ...binding.spec, clusters: [{ name: 'member2', replicas: 2 }] } }
}

test('a write without our annotations has only its own affinity as a candidate', () => {
  const only = { conditional: [], otherwise: three }
  expect(baseCandidates(parseInput(makeInput()))).toEqual(only)
  expect(baseCandidates(parseInput(makeInput({ stored: makeBinding() })))).toEqual(only)
})

describe('at creation', () => {
  test.each<{ name: string; input: Partial<BindingInput>; want: { base: unknown; affinity: unknown } }>([
    { name: 'the placement in the request is the base', input: {}, want: { base: three, affinity: one('member2') } },
    {
      name: 'the placement in the request is the base even if the known policy differs',
      input: { policy: known(one('member2', 'member9')) },
      want: { base: three, affinity: one('member2') },
    },
    {
      name: 'an absent affinity is a base too',
      input: { binding: makeBinding({ placement: {} }) },
      want: { base: {}, affinity: one('member2') },
    },
    {
      name: 'of two affinities, the base is the one that the scheduler uses',
      input: { binding: makeBinding({ placement: { ...three, clusterAffinities: [{ affinityName: 'a' }] } }) },
      want: { base: three, affinity: one('member2') },
    },
    {
      name: 'the object of our own answer keeps its base at a reinvocation',
      input: { binding: stored() },
      want: { base: three, affinity: one('member2') },
    },
    {
      name: 'the object of our own answer keeps its base if the policy is equal',
      input: { binding: stored(), policy: known(three) },
      want: { base: three, affinity: one('member2') },
    },
    {
      name: 'a forged base does not count if the decision for it differs',
      input: { binding: makeBinding({ placement: one('member1', 'member2') }, annotated({})) },
      want: { base: one('member1', 'member2'), affinity: one('member2') },
    },
    {
      name: 'a base from a backup does not count if its decision does not explain the affinity',
      input: { binding: overwritten(stored(), one('member1', 'member2')) },
      want: { base: one('member1', 'member2'), affinity: one('member2') },
    },
    {
      name: 'a base in the request stays if it changes nothing: it may be our own first answer',
      input: { binding: makeBinding({ placement: one('member2') }, annotated({})), policy: known(three) },
      want: { base: {}, affinity: one('member2') },
    },
    {
      name: 'a malformed base does not count',
      input: { binding: makeBinding({ placement: one('member2') }, { annotations: { [OUR_ANNOTATIONS[0]]: '{' } }) },
      want: { base: one('member2'), affinity: one('member2') },
    },
  ])('$name', ({ input, want }) => {
    expect(outcome(input)).toEqual(want)
  })

  test.each<{ name: string; now: Partial<BindingInput>; want: { base: unknown; affinity: unknown } }>([
    {
      name: 'to another cluster',
      now: { claims: [located(['member3'])] },
      want: { base: three, affinity: one('member3') },
    },
    { name: 'and its location is unknown', now: { claims: [unknown()] }, want: { base: undefined, affinity: three } },
    { name: 'and its claim is gone', now: { claims: [] }, want: { base: undefined, affinity: three } },
  ])('the base stays if the data moves between two calls for one request, $name', ({ now, want }) => {
    for (const policy of [known(three), lazy(three)]) {
      const { binding } = decideBinding(makeInput({ binding: makeBinding(), policy }))
      expect(outcome({ binding, policy, ...now })).toEqual(want)
      expect(outcome({ binding, policy, ...now, leavesMovesToLoop: true })).toEqual(want)
    }
  })

  test('a base from a backup does not count without a known policy', () => {
    for (const claims of [[], [unknown()], [located(['member3'])]])
      expect(outcome({ binding: stored(), claims }).affinity).toEqual(one('member2'))
  })

  test('a base from a backup does not count beside a policy that allows less', () => {
    const input = { binding: stored(), policy: known(one('member2')), claims: [located(['member3'])] }
    expect(outcome(input)).toEqual({ base: undefined, affinity: one('member2') })
  })
})

describe('at an update', () => {
  const two = one('member1', 'member2')
  const forgedMetadata = decideBinding(
    makeInput({ binding: makeBinding({ placement: {} }), claims: [located(['member2', 'member9'])] }),
  ).binding.metadata
  const narrowMetadata = {
    ...stored().metadata,
    annotations: { ...stored().metadata.annotations, ...annotated(one('member2')).annotations },
  }

  const relaxed = overwritten(stored(), three)

  test.each<{ name: string; input: Partial<BindingInput>; want: { base: unknown; affinity: unknown } }>([
    {
      name: 'an overwrite by the detector is narrowed again',
      input: { binding: overwritten(stored(), three), stored: stored() },
      want: { base: three, affinity: one('member2') },
    },
    {
      name: 'a reduced policy is the new base',
      input: { binding: overwritten(stored(), two), stored: stored() },
      want: { base: two, affinity: one('member2') },
    },
    {
      name: 'a reduced policy is the new base even before our cache has it',
      input: { binding: overwritten(stored(), two), stored: stored(), policy: known(three) },
      want: { base: two, affinity: one('member2') },
    },
    {
      name: 'a policy that equals the narrowing of the base is the new base',
      input: { binding: overwritten(relaxed, one('member2')), stored: relaxed, policy: known(one('member2')) },
      want: { base: one('member2'), affinity: one('member2') },
    },
    {
      name: 'a lazy policy that equals the narrowing of the base is the new base when the detector writes it',
      input: { binding: overwritten(relaxed, one('member2')), stored: relaxed, policy: lazy(one('member2')) },
      want: { base: one('member2'), affinity: one('member2') },
    },
    {
      name: 'a write of the scheduler keeps the annotated base if no policy is known',
      input: { binding: echoed(stored()), stored: stored() },
      want: { base: three, affinity: one('member2') },
    },
    {
      name: "a write of the scheduler uses the policy's base if it is known",
      input: { binding: echoed(stored()), stored: stored(), policy: known(two) },
      want: { base: two, affinity: one('member2') },
    },
    {
      name: 'a changed lazy policy does not apply at a write of the scheduler',
      input: { binding: echoed(stored()), stored: stored(), policy: lazy(one('member1')) },
      want: { base: three, affinity: one('member2') },
    },
    {
      name: "a lazy policy's placement applies when the detector writes it",
      input: { binding: overwritten(stored(), two), stored: stored(), policy: lazy(two) },
      want: { base: two, affinity: one('member2') },
    },
    {
      name: 'a write of the stored affinity without our annotations keeps the stored base',
      input: { binding: makeBinding({ placement: one('member2') }), stored: stored() },
      want: { base: three, affinity: one('member2') },
    },
    {
      name: 'data that moved is located by the base, not by the narrowed affinity',
      input: { binding: echoed(stored()), stored: stored(), claims: [located(['member3'])] },
      want: { base: three, affinity: one('member3') },
    },
    {
      name: 'an affinity that was stored before the first decision is its own base',
      input: { binding: makeBinding(), stored: makeBinding() },
      want: { base: three, affinity: one('member2') },
    },
    {
      name: 'the loop leaves a placement that was never narrowed to the detector, if the policy changed',
      input: { binding: makeBinding(), stored: makeBinding(), policy: known(one('member1', 'member9')) },
      want: { base: three, affinity: one('member2') },
    },
    {
      name: 'a reduced policy with a part of the data is the new base',
      input: {
        binding: overwritten(stored(three, 'member1', 'member3'), one('member1')),
        stored: stored(three, 'member1', 'member3'),
        claims: [located(['member1', 'member3'])],
        clusters: lookup('member1', 'member2', 'member3'),
      },
      want: { base: one('member1'), affinity: one('member1') },
    },
    {
      name: 'a forged base with a decision for it does not count while the data is elsewhere',
      input: { binding: { ...stored({}), metadata: forgedMetadata }, stored: stored(), claims: [located(['member3'])] },
      want: { base: three, affinity: one('member3') },
    },
    {
      name: 'a forged base that is as narrow as the affinity does not outlast the claim',
      input: { binding: { ...stored(), metadata: narrowMetadata }, stored: stored(), claims: [] },
      want: { base: undefined, affinity: three },
    },
  ])('$name', ({ input, want }) => {
    expect(outcome(input)).toEqual(want)
  })

  test.each<{ name: string; policy: PolicyInput | undefined }>([
    { name: 'no policy is known', policy: undefined },
    { name: 'the policy is known', policy: known(two) },
    { name: 'the policy is lazy', policy: lazy(two) },
  ])('a reinvocation for a new base that equals the stored affinity keeps it if $name', ({ policy }) => {
    // The detector reduced the base. The decision equals the stored affinity, and a later webhook causes a reinvocation.
    const before = stored()
    const first = decideBinding(makeInput({ binding: overwritten(before, two), stored: before, policy }))
    const again = outcome({ binding: first.binding, stored: before, policy })
    expect(again).toEqual({ base: two, affinity: one('member2') })
  })

  test('the base of another policy stays if the data moves between two calls', () => {
    const labels = { 'propagationpolicy.karmada.io/permanent-id': 'of-another-policy' }
    const before = overwritten(stored(), three)
    const sent = { ...before, metadata: { ...before.metadata, labels }, spec: { ...before.spec, placement: {} } }
    for (const policy of [known({}), lazy({})]) {
      const { binding } = decideBinding(makeInput({ binding: sent, stored: before, policy }))
      const again = outcome({ binding, stored: before, policy, claims: [located(['member9'])] })
      expect(again).toEqual({ base: {}, affinity: one('member9') })
    }
  })

  test('a new base applies even if the data moved to a cluster outside of it', () => {
    const before = stored()
    const claims = [located(['member2', 'member3'])]
    const first = decideBinding(makeInput({ binding: overwritten(before, two), stored: before, claims }))
    expect(outcome({ binding: first.binding, stored: before, claims })).toEqual({ base: two, affinity: one('member2') })
  })

  test('a forged base never widens a placement beyond a policy that is in force', () => {
    const before = stored()
    const forged = { ...before, metadata: { ...before.metadata, ...annotated({}) } }
    const moved = [located(['member9'])]
    const policy = known(three)
    expect(outcome({ binding: forged, stored: before, policy }).affinity).toEqual(one('member2'))
    expect(outcome({ binding: forged, stored: forged, policy })).toEqual({ base: three, affinity: one('member2') })
    expect(outcome({ binding: forged, stored: forged, policy, claims: moved }).affinity).toEqual(three)
  })

  test.each<{ name: string; base: PlacementAffinity }>([
    { name: 'a cluster that does not exist yet', base: one('gone') },
    {
      name: 'a cluster that its selector rejects today',
      base: {
        clusterAffinity: {
          clusterNames: ['member2', 'member9'],
          fieldSelector: { matchExpressions: [{ key: 'region', operator: 'Exists', values: ['r1'] }] },
        },
      },
    },
    {
      name: 'a cluster without a label yet',
      base: { clusterAffinity: { clusterNames: ['member9'], labelSelector: { matchLabels: { tier: 'core' } } } },
    },
    {
      name: 'a cluster in an overflow tier',
      base: {
        clusterAffinities: [
          {
            affinityName: 'a',
            clusterNames: ['member2'],
            overflowAffinities: [{ affinityName: 'o', clusterNames: ['member9'] }],
          },
        ],
      },
    },
  ])('a forged base gives no way to $name, which the policy does not allow', ({ base }) => {
    const before = makeBinding({ placement: one('member2') }, annotated(base))
    const bare = makeBinding({ placement: one('member2') })
    const clusters = lookup('member1', 'member2', 'member9')
    const input = { stored: before, policy: known(three), clusters, claims: [] }
    for (const leavesMovesToLoop of [true, false])
      expect(outcome({ binding: bare, ...input, leavesMovesToLoop }).affinity).toEqual(three)
  })

  test('a forged base does not count if only its decision is within the policy', () => {
    const binding = makeBinding({ placement: one('member2') }, stored({}).metadata)
    const got = outcome({ binding, stored: makeBinding(), policy: known(three), claims: [located(['member3'])] })
    expect(got.affinity).toEqual(one('member2'))
  })

  test.each([
    { name: 'the policy applies if the workload runs in it', runs: ['member2'], want: one('member2') },
    {
      name: 'the affinity stays if the policy excludes the workload',
      runs: ['member3'],
      want: one('member2', 'member3'),
    },
    {
      name: 'the affinity stays if the policy excludes one of the clusters of the workload',
      runs: ['member2', 'member3'],
      want: one('member2', 'member3'),
    },
  ])('with a base outside of the policy and without a claim, $name', ({ runs, want }) => {
    const clusters = runs.map((name) => ({ name }))
    const spec = { placement: one('member2', 'member3'), clusters }
    const input = { policy: known(one('member2')), claims: [], clusters: lookup('member1', 'member2', 'member3') }
    const before = makeBinding(spec, annotated({}))
    const { affinity } = outcome({ ...input, binding: makeBinding(spec), stored: before, leavesMovesToLoop: true })
    expect(affinity).toEqual(want)
  })

  test.each<{ name: string; policy: PlacementAffinity; want: PlacementAffinity }>([
    { name: 'of the policy', policy: labeled('member2', 'gone'), want: labeled('member2', 'gone') },
    { name: 'that the policy does not have', policy: labeled('member2'), want: one('member2') },
  ])('a base with a selector and a cluster $name is restored only if it is', ({ policy, want }) => {
    const clusters = lookup(makeCluster('member2', {}, { tier: 'core' }))
    const before = makeBinding({ placement: one('member2') }, annotated(labeled('member2', 'gone')))
    expect(outcome({ binding: before, stored: before, policy: lazy(policy), clusters, claims: [] }).affinity).toEqual(
      want,
    )
  })

  test('a base is restored with overflow tiers of a lazy policy whose clusters may join', () => {
    const overflow = { ...labeled('gone').clusterAffinity, affinityName: 'o' }
    const tiers = {
      clusterAffinities: [{ affinityName: 'a', clusterNames: ['member2'], overflowAffinities: [overflow] }],
    }
    const before = makeBinding({ placement: one('member2') }, annotated(tiers))
    const input = { policy: lazy(tiers), clusters: lookup(makeCluster('member2')), claims: [] }
    expect(outcome({ binding: before, stored: before, ...input }).affinity).toEqual(tiers)
  })

  test('the base with overflow tiers counts, also before the workload has replicas', () => {
    const placement = {
      clusterAffinities: [
        { affinityName: 'a', clusterNames: ['member2'], overflowAffinities: [{ affinityName: 'o', clusterNames: [] }] },
      ],
    }
    const given = { policy: lazy(placement), clusters: undefined }
    const claimed = makeBinding({ placement, replicas: 0 })
    const before = decideBinding(
      makeInput({ ...given, binding: claimed, claims: [located(['member2', 'member4'])] }),
    ).binding
    const tiers = (data: string[]) => {
      const { binding } = decideBinding(
        makeInput({ ...given, binding: before, stored: before, claims: [located(data)] }),
      )
      return binding.spec.placement?.clusterAffinities?.[0]?.overflowAffinities?.map(({ clusterNames }) => clusterNames)
    }
    expect(tiers(['member2', 'member4'])).toEqual([['member2', 'member4']])
    expect(tiers(['member2', 'member5'])).toEqual([['member2', 'member5']])
  })

  test('a forged base that begins with an overflow tier does not count without replicas', () => {
    const tiered = (first: string, tier: string): PlacementAffinity => ({
      clusterAffinities: [
        { affinityName: 'a', clusterNames: [first], overflowAffinities: [{ affinityName: 'o', clusterNames: [tier] }] },
      ],
    })
    const before = makeBinding({ placement: tiered('member2', 'member3'), replicas: 0 })
    const forged = { ...before, metadata: { ...before.metadata, ...annotated(tiered('member3', 'member2')) } }
    const given = { policy: lazy(tiered('member2', 'member3')), claims: [located(['member2', 'member3'])] }
    const got = outcome({ binding: forged, stored: forged, ...given }).affinity as PlacementAffinity
    expect(got.clusterAffinities?.[0]?.clusterNames).toEqual(['member2'])
  })

  test('a forged base never widens a placement beyond a lazy policy', () => {
    const before = stored()
    const forged = { ...before, metadata: { ...before.metadata, ...annotated({}) } }
    const got = outcome({ binding: forged, stored: forged, policy: lazy(three), claims: [located(['member9'])] })
    expect(got.affinity).toEqual(one('member2'))
  })
})

describe('after the deletion of the last claim', () => {
  const gone = { claims: [] }

  test.each<{ name: string; input: Partial<BindingInput>; want: PlacementAffinity }>([
    { name: 'the annotated base is restored', input: { binding: stored(), stored: stored() }, want: three },
    {
      name: "the policy's base is restored if it is known",
      input: { binding: stored(), stored: stored(), policy: known(one('member1', 'member2')) },
      want: one('member1', 'member2'),
    },
    {
      name: 'the affinity of the detector stays',
      input: { binding: overwritten(stored(), one('member5')), stored: stored() },
      want: one('member5'),
    },
    {
      name: 'a base outside of a lazy policy is not restored',
      input: { binding: stored({}), stored: stored({}), policy: lazy(three) },
      want: one('member2'),
    },
  ])('$name, and our annotations are removed', ({ input, want }) => {
    const { state, binding } = decideBinding(makeInput({ ...input, ...gone }))
    expect({ state, placement: binding.spec.placement, annotations: binding.metadata.annotations }).toEqual({
      state: 'Restored',
      placement: want,
      annotations: makeBinding().metadata.annotations,
    })
  })

  test('a hold of Lodestone is removed, and a second decision changes nothing', () => {
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

describe('at a write by the loop of another replica, from objects that are not cached yet', () => {
  const before = makeBinding()
  const old = stored(three, 'member1')
  const four = one('member1', 'member2', 'member3', 'gone')
  const sent = (from: ResourceBinding, data: string) =>
    decideBinding(makeInput({ binding: from, stored: from, claims: [located([data])] })).binding

  test.each<{ name: string; input: Partial<BindingInput>; want: { base: unknown; affinity: unknown } }>([
    {
      name: 'new claim: the write is reverted',
      input: { binding: sent(before, 'member2'), stored: before, claims: [] },
      want: { base: undefined, affinity: three },
    },
    {
      name: 'new location: the workload is on hold',
      input: { binding: sent(before, 'member2'), stored: before, claims: [unknown()] },
      want: { base: undefined, affinity: three },
    },
    {
      name: 'move: the narrowing stays',
      input: { binding: sent(old, 'member2'), stored: old, claims: [located(['member1'])] },
      want: { base: three, affinity: one('member1') },
    },
    {
      name: 'move and policy: the narrowing stays',
      input: {
        binding: sent(old, 'member2'),
        stored: old,
        claims: [located(['member1'])],
        policy: known(one('member1', 'member4')),
        leavesMovesToLoop: true,
      },
      want: { base: three, affinity: one('member1') },
    },
    {
      name: 'new clusters, one of which the other replica does not know either: the narrowing is that of this replica',
      input: {
        stored: makeBinding({ placement: four }),
        clusters: lookup('member1'),
        claims: [located(['member1'])],
        binding: decideBinding(
          makeInput({
            binding: makeBinding({ placement: four }),
            clusters: lookup('member1', 'member3'),
            claims: [located(['member1', 'member3', 'gone'])],
          }),
        ).binding,
      },
      want: { base: four, affinity: one('member1') },
    },
  ])('the base stays. $name', ({ input, want }) => {
    expect(outcome(input)).toEqual(want)
  })

  test('a binding without any annotations is narrowed from the same base', () => {
    const bare = { ...before, metadata: { name: 'app-deployment', namespace: 'default' } }
    const input = { binding: sent(bare, 'member2'), stored: bare, claims: [located(['member2', 'member3'])] }
    expect(outcome(input)).toEqual({ base: three, affinity: one('member2', 'member3') })
  })

  test('a known policy has precedence over the annotation', () => {
    const input = { binding: sent(before, 'member2'), stored: before, claims: [], policy: known(one('member2')) }
    expect(outcome(input)).toEqual({ base: undefined, affinity: one('member2') })
  })

  test.each<{ name: string; from?: PlacementAffinity; affinity: PlacementAffinity }>([
    { name: 'has another cluster than the data', affinity: one('member1', 'member2') },
    { name: 'names no cluster', affinity: labeled() },
    {
      name: 'has another cluster in its second group',
      affinity: {
        clusterAffinities: ['member2', 'member1'].map((name) => ({ affinityName: name, clusterNames: [name] })),
      },
    },
    { name: 'is for data outside of the base', from: one('member2', 'member9'), affinity: one('member9', 'member2') },
  ])('an affinity that $name does not follow from its annotation, and is a new base', ({ from = three, affinity }) => {
    const { annotations } = sent(makeBinding({ placement: from }), 'member2').metadata
    const binding = makeBinding(
      { placement: affinity },
      { annotations: { ...annotations, ...annotated(three).annotations } },
    )
    expect(outcome({ binding, stored: before })).toMatchObject({ base: affinity })
  })

  test.each<{ name: string; spec?: { replicaScheduling: object }; labels?: Record<string, string> }>([
    { name: 'another division of replicas', spec: { replicaScheduling: { replicaSchedulingType: 'Divided' } } },
    { name: 'the label of another policy', labels: { 'propagationpolicy.karmada.io/permanent-id': 'other' } },
  ])('a write of the detector with uncached clusters and $name is a new base', (other) => {
    const known = lookup('member1', 'member2', 'member3')
    const input = { claims: [located(['member1', 'member4'])], clusters: known }
    const narrowed = decideBinding(
      makeInput({ ...input, binding: makeBinding({ placement: one('member1', 'member2', 'member3', 'member4') }) }),
    ).binding
    const affinity = one('member4', 'member1')
    const { metadata } = narrowed
    const sent = overwritten(narrowed, { ...affinity, ...other.spec })
    const binding = { ...sent, metadata: { ...metadata, ...(other.labels && { labels: other.labels }) } }
    expect(outcome({ ...input, binding, stored: narrowed })).toMatchObject({ base: affinity })
  })

  describe('which knows another state of a Cluster, with a lazy policy', () => {
    const clusterAffinities = [
      { affinityName: 'first', clusterNames: ['member1', 'member2', 'member3'] },
      { affinityName: 'second', labelSelector: { matchLabels: { tier: 'core' } } },
    ]
    const claims = [located(['member2', 'member3'])]
    const plain = lookup('member1', 'member2', 'member3')
    const core = lookup('member1', makeCluster('member2', {}, { tier: 'core' }), 'member3')
    const left = lookup('member1', 'member2')
    const writeOf = (ofReplica: BindingInput['clusters'], ofLoop: BindingInput['clusters']) => {
      const policy = lazy({ clusterAffinities })
      const created = makeBinding({ placement: { clusterAffinities } })
      const before = decideBinding(makeInput({ binding: created, claims, policy, clusters: ofReplica })).binding
      const { binding } = decideBinding(
        makeInput({ binding: before, stored: before, claims, policy, clusters: ofLoop }),
      )
      expect(binding.spec.placement).not.toEqual(before.spec.placement)
      return { binding, stored: before, claims, policy, clusters: ofReplica, leavesMovesToLoop: true }
    }

    test.each([
      { name: 'got a label', ofReplica: plain, ofLoop: core },
      { name: 'lost a label', ofReplica: core, ofLoop: plain },
      { name: 'is gone', ofReplica: plain, ofLoop: left },
    ])('the base stays: it $name', ({ ofReplica, ofLoop }) => {
      expect(outcome(writeOf(ofReplica, ofLoop)).base).toEqual({ clusterAffinities })
    })

    // The data moved to a cluster that the changed policy does not allow, and the replica knows that before the loop.
    test.each([
      { name: 'has not received the Cluster that left', clusters: lookup('member1', 'member2', 'member3') },
      { name: 'has received it', clusters: lookup('member1', 'member2') },
    ])('the recorded base, which the policy excludes, survives a second review: it $name', ({ clusters }) => {
      const all = lookup('member1', 'member2', 'member3')
      const narrowed = stored(three, 'member1', 'member3')
      const running = { ...narrowed, spec: { ...narrowed.spec, clusters: [{ name: 'member1', replicas: 2 }] } }
      const policy = lazy(one('member3'))
      const decide = (input: Partial<BindingInput>) => decideBinding(makeInput({ policy, ...input })).binding
      const unlocated = { claims: [unknown()] }
      const before = decide({ ...unlocated, binding: running, stored: running, clusters: all })
      const sent = decide({
        ...unlocated,
        binding: before,
        stored: before,
        clusters: lookup('member1', 'member2'),
      })
      expect(sent.spec.placement).not.toEqual(before.spec.placement)
      const review = { claims: [located(['member2'])], clusters, leavesMovesToLoop: true }
      const answer = decide({ ...review, binding: sent, stored: before })
      expect(readAnnotations(answer.metadata.annotations).base).toEqual(three)
      expect(decide({ ...review, binding: answer, stored: answer })).toBe(answer)
    })

    test('the recorded base survives two calls for a narrowing of a relaxed workload', () => {
      const policy = lazy(one('member1', 'member3'))
      const clusters = lookup(
        makeCluster('member1', { taints: [{ key: 'broken', effect: 'NoSchedule' }] }),
        'member2',
        'member3',
      )
      const decide = (input: Partial<BindingInput>) => decideBinding(makeInput({ policy, clusters, ...input })).binding
      const narrowed = stored(three, 'member1')
      const moved = { ...narrowed, spec: { ...narrowed.spec, clusters: [{ name: 'member3', replicas: 2 }] } }
      const before = decide({ binding: moved, stored: moved, claims: [located(['member1'])] })
      expect(before.spec.placement).toEqual(three)
      const sent = decide({ binding: before, stored: before, claims: [located(['member3'])] })
      expect(sent.spec.placement).toEqual(one('member3'))
      // The replica does not know yet that the data moved to member3.
      const review = { claims: [located(['member1'])], stored: before, leavesMovesToLoop: true }
      const answer = decide({ ...review, binding: sent })
      expect(readAnnotations(answer.metadata.annotations).base).toEqual(three)
      expect(decide({ ...review, binding: answer })).toBe(answer)
    })

    test('a new placement of the detector with a change of the workload is a new base', () => {
      const sent = writeOf(plain, left)
      const resource = { ...sent.binding.spec.resource, resourceVersion: '2' }
      const binding = { ...sent.binding, spec: { ...sent.binding.spec, resource } }
      expect(outcome({ ...sent, binding }).base).toEqual(binding.spec.placement)
    })
  })

  test.each([
    { name: 'does not know the location', claims: [unknown()], want: { base: undefined, affinity: three } },
    { name: 'knows another location', claims: [located(['member1'])], want: { base: three, affinity: one('member1') } },
  ])('the first narrowing keeps a base outside of a changed lazy policy: it $name', ({ claims, want }) => {
    const held = decideBinding(makeInput({ binding: makeBinding(), claims: [unknown()] })).binding
    expect(held.spec.suspension).toEqual({ scheduling: true })
    const policy = lazy(one('member1', 'member2'))
    const given = { stored: held, claims, policy, leavesMovesToLoop: true }
    const answer = outcome({ ...given, binding: sent(held, 'member2') })
    expect(answer).toEqual(want)
  })

  test('a relaxed base keeps its own names of groups', () => {
    const clusterAffinities = [
      { affinityName: 'a', clusterNames: ['member1', 'member2'] },
      { affinityName: 'b', clusterNames: ['member3'] },
    ]
    const status = { schedulerObservingAffinityName: 'b', lastScheduledTime: '2026-01-01T00:00:00Z' }
    const claims = [located(['member3'])]
    const runs = { ...makeBinding({ placement: { clusterAffinities }, clusters: [{ name: 'member3' }] }), status }
    const narrowed = decideBinding(makeInput({ binding: runs, stored: runs, claims })).binding
    const evicted = { ...narrowed, spec: { ...narrowed.spec, clusters: [] } }
    const sent = decideBinding(
      makeInput({ binding: evicted, stored: evicted, claims, clusters: lookup('member1', 'member2') }),
    )
    expect(sent.state).toBe('Relaxed')
    const { base } = outcome({ binding: sent.binding, stored: evicted, claims })
    expect(base).toEqual({ clusterAffinities })
  })
})

describe('at a write of Karmada, a replica whose caches are older than the stored binding', () => {
  const two = one('member1', 'member2')
  const four = one('member1', 'member2', 'member3', 'member4')

  test.each<{ name: string; binding: ResourceBinding; input: Partial<BindingInput>; want: PlacementAffinity }>([
    {
      name: 'with an older policy does not replace the affinity of the newer one, without a claim',
      binding: makeBinding({ placement: two }),
      input: { claims: [unknown({ onUnresolved: 'Ignore' })], policy: known(one('member1', 'member9')) },
      want: two,
    },
    {
      name: 'with an older policy does not narrow to clusters outside of the newer one',
      binding: makeBinding({ placement: two }),
      input: { claims: [located(['member3'], { enforcement: 'Preferred' })], policy: known(one('member3')) },
      want: two,
    },
    {
      name: 'with an older, wider policy does not allow more clusters',
      binding: makeBinding({ placement: two }),
      input: { claims: [located(['member2', 'member4'])], policy: known(four) },
      want: one('member2'),
    },
    {
      name: 'with an older policy keeps a narrowing that it would not make',
      binding: stored(two),
      input: { claims: [located(['member2'])], policy: known(one('member1', 'member3')) },
      want: one('member2'),
    },
  ])('$name', ({ binding, input, want }) => {
    const written = { binding: echoed(binding), stored: binding, ...input, leavesMovesToLoop: true }
    expect(outcome(written).affinity).toEqual(want)
  })

  test('with an older, wider policy keeps the base: later decisions allow no more', () => {
    const before = stored(two)
    const input = { stored: before, policy: known(four), leavesMovesToLoop: true }
    expect(outcome({ binding: echoed(before), ...input }).base).toEqual(two)
  })

  test('with a narrower policy takes it for the base', () => {
    const before = stored(three)
    const input = { stored: before, policy: known(two), leavesMovesToLoop: true }
    expect(outcome({ binding: echoed(before), ...input }).base).toEqual(two)
  })

  test.each<{ name: string; policy: PolicyInput; want: PlacementAffinity }>([
    { name: 'a policy that does not allow its cluster', policy: known(one('member1')), want: one('member1') },
    { name: 'a policy that allows more', policy: known(four), want: one('member2') },
    { name: 'a lazy policy only when the detector writes it', policy: lazy(one('member1')), want: one('member2') },
  ])('the loop applies to a running workload $name', ({ policy, want }) => {
    const before = { ...stored(three), spec: { ...stored(three).spec, clusters: [{ name: 'member2' }] } }
    const { binding } = decideBinding(makeInput({ binding: before, stored: before, policy }))
    expect(binding.spec.placement).toEqual(want)
    // A decision on the result changes nothing.
    expect(decideBinding(makeInput({ binding, stored: binding, policy })).binding).toBe(binding)
  })

  test.each<{ name: string; binding: ResourceBinding; policy?: PolicyInput; want: boolean }>([
    { name: 'with the base of its policy', binding: stored(), policy: known(three), want: false },
    { name: 'with another base', binding: stored(), policy: known(two), want: true },
    { name: 'without a decision, as its policy', binding: makeBinding(), policy: known(three), want: false },
    { name: 'without a decision, not as its policy', binding: makeBinding(), policy: known(two), want: true },
    { name: 'with another base than a lazy policy', binding: stored(), policy: lazy(two), want: false },
    { name: 'without a known policy', binding: stored(), want: false },
  ])('a binding $name differs from its policy: $want', ({ binding, policy, want }) => {
    expect(differsFromPolicy(parseInput(makeInput({ binding, stored: binding, policy })))).toBe(want)
  })

  test('the loop corrects a base that allows more than its policy', () => {
    const before = { ...stored(four), spec: { ...stored(four).spec, placement: four } }
    const input = { binding: before, stored: before, claims: [located(['member3', 'member4'])], policy: known(two) }
    expect(outcome(input)).toMatchObject({ affinity: two })
  })

  test('keeps the move of the loop, if it has an older policy that does not allow it', () => {
    const before = stored(three, 'member1')
    const moved = decideBinding(makeInput({ binding: before, stored: before, claims: [located(['member2'])] })).binding
    const policy = known(one('member1', 'member4'))
    const claims = [located(['member2'])]
    expect(outcome({ binding: moved, stored: before, claims, policy }).affinity).toEqual(one('member2'))
  })

  test('does not move a running workload to an older policy, which the data has left', () => {
    const narrowed = stored(three, 'member2', 'member3')
    const before = { ...narrowed, spec: { ...narrowed.spec, clusters: [{ name: 'member3' }] } }
    const input = { stored: before, claims: [located(['member2', 'member3'])], policy: known(one('member2')) }
    const { affinity } = outcome({ binding: before, ...input, leavesMovesToLoop: true })
    expect(affinity).toEqual(one('member2', 'member3'))
  })

  test.each<{ name: string; to: string[]; terms: Parameters<typeof located>[1] }>([
    { name: 'requires', to: ['member2', 'member3'], terms: {} },
    { name: 'prefers', to: ['member3'], terms: { enforcement: 'Preferred' } },
  ])('keeps the base when the loop knows a new cluster that the workload $name', ({ to, terms }) => {
    const placement = { ...three, replicaScheduling: { replicaSchedulingType: 'Divided' } }
    const claims = [located(to, terms)]
    const old = lookup('member1', 'member2')
    const before = decideBinding(makeInput({ binding: makeBinding({ placement }), claims, clusters: old })).binding
    const clusters = lookup('member1', 'member2', 'member3')
    const sent = decideBinding(makeInput({ binding: before, stored: before, claims, clusters })).binding
    expect(sent).not.toBe(before)
    expect(outcome({ binding: sent, stored: before, claims, clusters: old }).base).toEqual(three)
  })

  const divided = { replicaScheduling: { replicaSchedulingType: 'Divided' as const } }
  const labels = { 'propagationpolicy.karmada.io/permanent-id': 'of-the-new-policy' }

  test.each<{ name: string; changed: object; metadata?: object; policy?: PolicyInput }>([
    { name: 'no policy, and the new one divides replicas', changed: divided },
    { name: 'the former policy, and the new one divides replicas', changed: divided, policy: known(three) },
    { name: 'no policy, and the new one has another id', changed: {}, metadata: { labels } },
    {
      name: 'the former policy, and the new one has another id',
      changed: {},
      metadata: { labels },
      policy: known(three),
    },
  ])('stays within a new policy that equals the narrowing, if it has $name', ({ changed, metadata, policy }) => {
    const before = stored(three, 'member2')
    const sent = overwritten(before, { ...before.spec.placement, ...changed })
    const binding = { ...sent, metadata: { ...sent.metadata, ...metadata } }
    // The narrowing from the former base would add the cluster where the data is now too.
    const claims = [located(['member1', 'member2'])]
    const input = { binding, stored: before, claims, leavesMovesToLoop: true, ...(policy && { policy }) }

    expect(outcome(input)).toMatchObject({ affinity: one('member2') })
  })

  test('takes a policy that equals the narrowing for a new base, with an unknown cluster', () => {
    const input = { claims: [located(['member1', 'member3'])], clusters: lookup('member1', 'member2') }
    const before = decideBinding(makeInput({ binding: makeBinding({ placement: three }), ...input })).binding
    const reduced = one('member1', 'member3')
    const binding = overwritten(before, reduced)
    expect(outcome({ ...input, binding, stored: before, policy: known(reduced) }).base).toEqual(reduced)
  })

  test('keeps the base of the loop, if it does not know the new cluster with the data', () => {
    const before = stored(three, 'member1')
    const claims = [located(['member1', 'member3'])]
    const moved = decideBinding(makeInput({ binding: before, stored: before, claims })).binding
    const clusters = lookup('member1', 'member2')
    expect(outcome({ binding: moved, stored: before, claims: [located(['member1'])], clusters }).base).toEqual(three)
  })
})
