import { describe, expect, test } from 'vitest'
import { located, makeBinding, makeInput, makePolicyInput, NOW, nowhere, unknown } from '../../../test/builders.ts'
import type { BindingSpec, Placement, ResourceBinding } from '../../api/karmada.ts'
import { MANAGED_BY_LABEL } from '../../api/karmada.ts'
import { HOLD_ANNOTATION, LOCALITY_ANNOTATION } from '../../api/lodestone.ts'
import type { ClaimAnswer } from '../data-source/locate.ts'
import { bindingDecisionId } from '../decision-id.ts'
import { type BindingAnnotations, readAnnotations } from './annotations.ts'
import { answerBinding, type BindingDecision, decideBinding } from './decide.ts'
import type { BindingInput } from './input.ts'
import { DEFAULT_TIMING } from './timing.ts'

const one = (...clusterNames: string[]): Placement => ({ clusterAffinity: { clusterNames } })
const three = one('member1', 'member2', 'member3')
const divided: Placement = { replicaScheduling: { replicaSchedulingType: 'Divided' } }
const scheduled = { clusters: [{ name: 'member2', replicas: 2 }] }
const ignore = { onUnresolved: 'Ignore', onUnsatisfiable: 'Ignore' } as const
const job: Partial<BindingSpec> = {
  resource: { apiVersion: 'batch/v1', kind: 'Job', namespace: 'default', name: 'app' },
}

function decide(input: Partial<BindingInput>): BindingDecision {
  return decideBinding(makeInput(input))
}

/** A binding after a decision, when the data was in member2. */
function narrowed(spec: Partial<BindingSpec> = {}, claims: ClaimAnswer[] = [located(['member2'])]): ResourceBinding {
  return decide({ binding: makeBinding(spec), claims }).binding
}

/** The same binding, stored and sent back, with other claims. */
function lookAgain(binding: ResourceBinding, claims: ClaimAnswer[], more: Partial<BindingInput> = {}): BindingDecision {
  return decide({ binding, stored: binding, claims, ...more })
}

function summary({ state, binding }: BindingDecision) {
  const { base, locality, hold }: BindingAnnotations = readAnnotations(binding.metadata.annotations)
  return {
    state,
    affinity: binding.spec.placement,
    suspension: binding.spec.suspension,
    base,
    required: locality?.required,
    hold: hold?.reason,
  }
}

const nothing = { suspension: undefined, base: undefined, required: undefined, hold: undefined }

describe('a binding that Lodestone does not manage is returned as the same object', () => {
  test.each<{ name: string; binding: ResourceBinding; claims?: ClaimAnswer[] }>([
    {
      name: 'without a placement: an attached binding',
      binding: (({ placement: _placement, ...spec }) => ({ ...makeBinding(), spec }))(makeBinding().spec),
    },
    { name: 'while it is being deleted', binding: makeBinding({}, { deletionTimestamp: '2026-01-01T00:00:00Z' }) },
    {
      name: 'if another controller manages it',
      binding: makeBinding({}, { labels: { [MANAGED_BY_LABEL]: 'MultiClusterService' } }),
    },
    { name: 'without a claim', binding: makeBinding(), claims: [] },
  ])('$name', ({ binding, claims }) => {
    const input = makeInput({ binding, ...(claims && { claims }) })
    const decision = decideBinding(input)
    expect([decision.state, decision.binding === binding]).toEqual(['Untouched', true])
    expect(answerBinding(decision, input)).toEqual({ kind: 'allow' })
  })
})

describe('a binding that is not scheduled', () => {
  test.each<{ name: string; claims: ClaimAnswer[]; placement?: Placement; want: object }>([
    {
      name: 'is narrowed to its data',
      claims: [located(['member2'])],
      want: { ...nothing, state: 'Narrowed', affinity: one('member2'), base: three, required: ['member2'] },
    },
    {
      name: 'is on hold while the location is unknown',
      claims: [unknown()],
      want: { ...nothing, state: 'OnHold', affinity: three, suspension: { scheduling: true }, hold: 'Unresolved' },
    },
    {
      name: 'continues while the location is unknown, if the claim allows it',
      claims: [unknown(ignore)],
      want: { ...nothing, state: 'Ignored', affinity: three },
    },
    {
      name: 'is on hold if the data does not exist',
      claims: [nowhere()],
      want: { ...nothing, state: 'OnHold', affinity: three, suspension: { scheduling: true }, hold: 'Unsatisfiable' },
    },
    {
      name: 'continues without data, if the claim allows it',
      claims: [nowhere(ignore)],
      want: { ...nothing, state: 'Ignored', affinity: three },
    },
    {
      name: 'is narrowed to its other data, if a claim allows that there is none of its own',
      claims: [nowhere(ignore), located(['member2'], { claim: 'default/z' })],
      want: { ...nothing, state: 'Narrowed', affinity: one('member2'), base: three, required: ['member2'] },
    },
    {
      name: 'is on hold if no allowed cluster has the data',
      claims: [located(['member9'])],
      want: { ...nothing, state: 'OnHold', affinity: three, suspension: { scheduling: true }, hold: 'Unsatisfiable' },
    },
    {
      name: 'continues although no allowed cluster has the data, if the claim allows it',
      claims: [located(['member9'], ignore)],
      want: { ...nothing, state: 'Ignored', affinity: three },
    },
    {
      name: 'is on hold if the spread constraint cannot be satisfied',
      claims: [located(['member2'])],
      placement: { ...three, spreadConstraints: [{ spreadByField: 'cluster', minGroups: 2, maxGroups: 9 }] },
      want: {
        ...nothing,
        state: 'OnHold',
        affinity: { ...three, spreadConstraints: [{ spreadByField: 'cluster', minGroups: 2, maxGroups: 9 }] },
        suspension: { scheduling: true },
        hold: 'Unsatisfiable',
      },
    },
    {
      name: 'is on hold if one of two claims is unresolved',
      claims: [located(['member2']), unknown({ claim: 'default/b' })],
      want: { ...nothing, state: 'OnHold', affinity: three, suspension: { scheduling: true }, hold: 'Unresolved' },
    },
    {
      name: 'is narrowed by the located claim if the other one may be ignored',
      claims: [located(['member2']), unknown({ claim: 'default/b', ...ignore })],
      want: { ...nothing, state: 'Narrowed', affinity: one('member2'), base: three, required: ['member2'] },
    },
    {
      name: 'is on hold if two claims share no cluster and either of them holds',
      claims: [located(['member1'], ignore), located(['member2'], { claim: 'default/b' })],
      want: { ...nothing, state: 'OnHold', affinity: three, suspension: { scheduling: true }, hold: 'Unsatisfiable' },
    },
    {
      name: 'prefers the clusters of a Preferred claim, if its replicas are divided',
      claims: [located(['member2'], { enforcement: 'Preferred' })],
      placement: { ...three, ...divided },
      want: {
        ...nothing,
        state: 'Narrowed',
        affinity: {
          clusterAffinities: [
            { affinityName: 'default-local', clusterNames: ['member2'] },
            { affinityName: 'default', ...three.clusterAffinity },
          ],
          ...divided,
        },
        base: three,
      },
    },
    {
      name: 'keeps all clusters in spite of a Preferred claim, if each gets a copy',
      claims: [located(['member2'], { enforcement: 'Preferred' })],
      want: { ...nothing, state: 'Narrowed', affinity: three, base: three },
    },
    {
      name: 'is never on hold for a Preferred claim',
      claims: [unknown({ enforcement: 'Preferred' })],
      want: { ...nothing, state: 'Ignored', affinity: three },
    },
    {
      name: 'is never on hold for preferred data that does not exist',
      claims: [nowhere({ enforcement: 'Preferred' })],
      want: { ...nothing, state: 'Ignored', affinity: three },
    },
  ])('$name', ({ claims, placement, want }) => {
    const input = { binding: makeBinding(placement && { placement }), claims }
    expect(summary(decide(input))).toEqual(want)
    expect(summary(decide({ ...input, claims: claims.toReversed() }))).toEqual(want)
    expect(summary(decide({ ...input, stored: input.binding }))).toEqual(want)
  })
})

describe('a binding that is scheduled', () => {
  const kept = { ...nothing, state: 'Kept', affinity: one('member2'), base: three, required: ['member2'] }
  const moved = { ...nothing, state: 'Narrowed', affinity: one('member3'), base: three, required: ['member3'] }

  test.each<{ name: string; spec?: Partial<BindingSpec>; claims: ClaimAnswer[]; want: object }>([
    { name: 'moves with its data if it runs forever', claims: [located(['member3'])], want: moved },
    { name: 'stays when it runs to completion', spec: job, claims: [located(['member3'])], want: kept },
    {
      name: 'that runs to completion moves if rebalance is Always',
      spec: job,
      claims: [located(['member3'], { rebalance: 'Always' })],
      want: moved,
    },
    { name: 'stays if rebalance is Never', claims: [located(['member3'], { rebalance: 'Never' })], want: kept },
    { name: 'keeps its narrowing when the location becomes unknown', claims: [unknown()], want: kept },
    {
      name: 'keeps its narrowing even if the claim allows to continue without data',
      claims: [unknown(ignore)],
      want: kept,
    },
    { name: 'keeps its narrowing if the data is gone', claims: [nowhere()], want: kept },
    {
      name: 'keeps its narrowing if the data moved to a cluster that is not allowed',
      claims: [located(['member9'])],
      want: kept,
    },
    {
      name: 'stays narrowed if nothing changed, for any rebalance',
      spec: job,
      claims: [located(['member2'], { rebalance: 'Never' })],
      want: { ...kept, state: 'Narrowed' },
    },
  ])('and narrowed $name', ({ spec, claims, want }) => {
    const before = narrowed({ ...scheduled, ...spec })
    expect(summary(lookAgain(before, claims))).toEqual(want)
    expect(
      summary(decide({ binding: { ...before, spec: { ...before.spec, placement: three } }, stored: before, claims })),
    ).toEqual(want)
  })

  describe('and whose data moved is not moved by admission', () => {
    const before = narrowed(scheduled)
    const claims = [located(['member3'])]
    const admit = (binding: ResourceBinding, stored = before) =>
      decide({ binding, stored, claims, leavesMovesToLoop: true })

    test('at a write of another writer: of the stored affinity, or of the policy', () => {
      const again = { ...before, spec: { ...before.spec, placement: three } }
      expect([before, again].map((binding) => summary(admit(binding)))).toEqual([kept, kept])
    })

    test('until the loop moves it', () => {
      const { binding } = lookAgain(before, claims)
      expect(summary(admit(binding))).toEqual(moved)
      expect(admit(binding).binding).toBe(binding)
    })

    test('also if the move is pending, and the binding was written meanwhile', () => {
      const waiting = admit(before).binding
      expect(admit(waiting, waiting).binding).toBe(waiting)
      expect(summary(admit(lookAgain(waiting, claims).binding, waiting))).toEqual(moved)
    })

    test('unless its policy no longer allows its cluster either', () => {
      const binding = { ...before, spec: { ...before.spec, placement: one('member1', 'member3') } }
      expect(summary(admit(binding))).toEqual({ ...moved, base: one('member1', 'member3') })
    })

    test('also if it was never narrowed', () => {
      const never = makeBinding(scheduled)
      expect(summary(admit(never, never))).toEqual({ ...nothing, state: 'Ignored', affinity: three })
      expect(summary(admit(lookAgain(never, claims).binding, never))).toEqual(moved)
    })

    test('and is narrowed immediately if that moves nothing', () => {
      const never = makeBinding({ clusters: [{ name: 'member3', replicas: 2 }] })
      expect(summary(admit(never, never))).toEqual(moved)
    })
  })

  test.each<{ name: string; spec?: Partial<BindingSpec>; claims: ClaimAnswer[]; want: object }>([
    {
      name: 'is narrowed for the first time, and moves',
      claims: [located(['member2'])],
      want: { ...nothing, state: 'Narrowed', affinity: one('member2'), base: three, required: ['member2'] },
    },
    {
      name: 'is narrowed for the first time, even if rebalance is Never',
      spec: job,
      claims: [located(['member2'], { rebalance: 'Never' })],
      want: { ...nothing, state: 'Narrowed', affinity: one('member2'), base: three, required: ['member2'] },
    },
    {
      name: 'stays while the location is unknown',
      claims: [unknown()],
      want: { ...nothing, state: 'Ignored', affinity: three },
    },
    {
      name: 'stays if the data does not exist',
      claims: [nowhere()],
      want: { ...nothing, state: 'Ignored', affinity: three },
    },
    {
      name: 'stays if no allowed cluster has the data',
      claims: [located(['member9'])],
      want: { ...nothing, state: 'Ignored', affinity: three },
    },
  ])('but was never narrowed $name', ({ spec, claims, want }) => {
    expect(summary(lookAgain(makeBinding({ ...scheduled, ...spec }), claims))).toEqual(want)
  })

  test('without a known location is narrowed first when the location is known', () => {
    const went = decide({ binding: makeBinding(job), claims: [unknown(ignore)] }).binding
    const running = { ...went, spec: { ...went.spec, ...scheduled } }
    expect(summary(lookAgain(running, [located(['member2'], ignore)])).state).toBe('Narrowed')
  })

  test('counts as scheduled if only the stored binding has clusters', () => {
    const before = makeBinding(scheduled)
    expect(decide({ binding: makeBinding(), stored: before, claims: [unknown()] }).state).toBe('Ignored')
  })

  test('is relaxed to the base if the policy no longer allows the clusters with the data', () => {
    const before = narrowed(scheduled)
    const binding = { ...before, spec: { ...before.spec, placement: one('member1') } }
    expect(summary(decide({ binding, stored: before, claims: [unknown()] }))).toEqual({
      ...nothing,
      state: 'Relaxed',
      affinity: one('member1'),
      base: one('member1'),
      required: ['member2'],
    })
  })
})

describe('a binding under eviction', () => {
  const evicting = (...names: string[]) => ({ gracefulEvictionTasks: names.map((fromCluster) => ({ fromCluster })) })

  test.each<{ name: string; spec: Partial<BindingSpec>; data: string[]; wantState: string; wantAffinity: Placement }>([
    {
      name: 'is relaxed if every cluster with the data is being evicted',
      spec: evicting('member2'),
      data: ['member2'],
      wantState: 'Relaxed',
      wantAffinity: three,
    },
    {
      name: 'stays narrowed while one cluster with the data remains',
      spec: evicting('member2'),
      data: ['member1', 'member2'],
      wantState: 'Narrowed',
      wantAffinity: one('member1', 'member2'),
    },
    {
      name: 'stays narrowed if another cluster is being evicted',
      spec: evicting('member3'),
      data: ['member2'],
      wantState: 'Narrowed',
      wantAffinity: one('member2'),
    },
  ])('$name', ({ spec, data, wantState, wantAffinity }) => {
    const before = narrowed({ ...scheduled, ...spec }, [located(data)])
    const { state, binding } = lookAgain(before, [located(data)])
    expect([state, binding.spec.placement]).toEqual([wantState, wantAffinity])
  })

  test('of an object that is no workload is relaxed if only its overflow is left', () => {
    const placement: Placement = {
      clusterAffinities: [
        {
          affinityName: 'a',
          clusterNames: ['member1'],
          overflowAffinities: [{ affinityName: 'o', clusterNames: ['member2'] }],
        },
      ],
    }
    const binding = makeBinding({ replicas: 0, placement, ...evicting('member1') })
    const claims = [located(['member1', 'member2'])]
    expect(summary(decide({ binding, claims })).state).toBe('Relaxed')
    expect(summary(decide({ binding: makeBinding({ ...binding.spec, replicas: 1 }), claims })).state).toBe('Narrowed')
  })

  test.each([
    { name: 'a Deployment returns to its data after the window', kind: 'Deployment', wantState: 'Narrowed' },
    { name: 'a Job stays in its present cluster: to go back is a move', kind: 'Job', wantState: 'Relaxed' },
  ])('$name', ({ kind, wantState }) => {
    const resource = { apiVersion: kind === 'Job' ? 'batch/v1' : 'apps/v1', kind, namespace: 'default', name: 'app' }
    const relaxed = narrowed({ ...scheduled, ...evicting('member2'), resource })
    const { gracefulEvictionTasks: _tasks, ...spec } = relaxed.spec
    const after = { ...relaxed, spec: { ...spec, clusters: [{ name: 'member1', replicas: 2 }] } }
    const waiting = lookAgain(after, [located(['member2'])])
    expect(waiting.state).toBe('Relaxed')
    const afterwards = NOW + DEFAULT_TIMING.failbackWindowMs
    expect(lookAgain(waiting.binding, [located(['member2'])], { now: afterwards }).state).toBe(wantState)
  })

  test('is never on hold, although it has no clusters any more', () => {
    const binding = makeBinding(evicting('member2'))
    const policy = makePolicyInput({ requiresClaim: true })
    expect([decide({ binding, claims: [unknown()] }).state, decide({ binding, claims: [], policy }).state]).toEqual([
      'Ignored',
      'Untouched',
    ])
  })
})

describe('a policy that requires a claim', () => {
  const policy = makePolicyInput({ requiresClaim: true })

  test('holds a binding without a claim', () => {
    expect(summary(decide({ claims: [], policy }))).toEqual({
      ...nothing,
      state: 'OnHold',
      affinity: three,
      suspension: { scheduling: true },
      hold: 'ClaimMissing',
    })
  })

  test('releases the binding, narrowed, when the claim is created', () => {
    const held = decide({ claims: [], policy }).binding
    expect(summary(lookAgain(held, [located(['member2'])], { policy }))).toEqual({
      ...nothing,
      state: 'Narrowed',
      affinity: one('member2'),
      base: three,
      required: ['member2'],
    })
  })

  test.each<{ name: string; binding: ResourceBinding; stored?: ResourceBinding }>([
    { name: 'is scheduled', binding: makeBinding(scheduled) },
    { name: 'was scheduled until this write', binding: makeBinding(), stored: makeBinding(scheduled) },
  ])('does not hold a binding that $name', ({ binding, stored }) => {
    expect(decide({ binding, stored, claims: [], policy })).toEqual({ state: 'Untouched', binding, message: '' })
  })

  test('restores the base of a narrowed binding that lost its claim, and holds it', () => {
    const before = narrowed()
    expect(summary(lookAgain(before, [], { policy }))).toEqual({
      ...nothing,
      state: 'OnHold',
      affinity: three,
      suspension: { scheduling: true },
      hold: 'ClaimMissing',
    })
  })
})

describe('a hold', () => {
  const held = (suspension?: BindingSpec['suspension'], claims = [unknown()]) =>
    decide({ binding: makeBinding(suspension && { suspension }), claims }).binding

  test('keeps the other fields of the suspension, and so does its release', () => {
    const before = held({ dispatching: true, dispatchingOnClusters: { clusterNames: ['a'] } })
    const after = lookAgain(before, [located(['member2'])]).binding
    expect([before.spec.suspension, after.spec.suspension]).toEqual([
      { dispatching: true, dispatchingOnClusters: { clusterNames: ['a'] }, scheduling: true },
      { dispatching: true, dispatchingOnClusters: { clusterNames: ['a'] } },
    ])
  })

  test('leaves no empty suspension', () => {
    expect(Object.hasOwn(lookAgain(held(), [located(['member2'])]).binding.spec, 'suspension')).toBe(false)
  })

  test('is not added to the suspension of another writer', () => {
    expect(
      summary(decide({ binding: makeBinding({ suspension: { scheduling: true } }), claims: [unknown()] })),
    ).toEqual({ ...nothing, state: 'OnHold', affinity: three, suspension: { scheduling: true } })
  })

  test('does not remove the suspension of another writer', () => {
    const theirs = makeBinding({ suspension: { scheduling: true } })
    expect(summary(lookAgain(theirs, [located(['member2'])]))).toEqual({
      ...nothing,
      state: 'Narrowed',
      affinity: one('member2'),
      suspension: { scheduling: true },
      base: three,
      required: ['member2'],
    })
  })

  test('is set again after a user removed it', () => {
    const before = held()
    const { suspension: _suspension, ...spec } = before.spec
    expect(lookAgain({ ...before, spec }, [unknown()]).binding.spec.suspension).toEqual({ scheduling: true })
  })

  test('is removed even if the requester removed its annotation', () => {
    const before = held()
    const { [HOLD_ANNOTATION]: _hold, ...annotations } = before.metadata.annotations ?? {}
    const binding = { ...before, metadata: { ...before.metadata, annotations } }
    expect(decide({ binding, stored: before }).binding.spec.suspension).toBe(undefined)
  })

  test('is never set on a binding that was scheduled meanwhile, where ours is removed', () => {
    const before = held()
    const binding = { ...before, spec: { ...before.spec, ...scheduled } }
    expect(summary(decide({ binding, stored: before, claims: [unknown()] }))).toEqual({
      ...nothing,
      state: 'Ignored',
      affinity: three,
    })
  })

  test('keeps its start and reason, and is not written again while nothing changes', () => {
    const before = held()
    const later = decide({ binding: before, stored: before, claims: [unknown()], now: NOW + 5000 })
    expect(later.binding).toBe(before)
    expect(readAnnotations(before.metadata.annotations).hold).toEqual({
      since: '2026-01-02T03:04:05.000Z',
      reason: 'Unresolved',
      message: expect.any(String),
    })
  })

  describe('with a timeout', () => {
    const slow = [unknown({ holdTimeoutSeconds: 60 })]
    const before = held(undefined, slow)
    const at = (seconds: number, claims = slow, binding = before) =>
      decide({ binding, stored: binding, claims, now: NOW + seconds * 1000 })

    test('lasts until the timeout', () => {
      expect(at(59).binding).toBe(before)
    })

    test('is released without the narrowed affinity, and stays released', () => {
      const released = at(60)
      expect(summary(released)).toEqual({ ...nothing, state: 'Released', affinity: three, hold: 'Unresolved' })
      expect(at(61, slow, released.binding).binding).toBe(released.binding)
      expect(summary(at(61, [unknown({ holdTimeoutSeconds: 600 })], released.binding)).state).toBe('Released')
    })

    test('is narrowed when the location becomes known after the release', () => {
      const after = at(61, [located(['member2'])], at(60).binding)
      expect(summary(after)).toEqual({
        ...nothing,
        state: 'Narrowed',
        affinity: one('member2'),
        base: three,
        required: ['member2'],
      })
    })

    test('ends at the shortest timeout of several claims', () => {
      const claims = [unknown({ holdTimeoutSeconds: 600 }), unknown({ claim: 'default/b', holdTimeoutSeconds: 60 })]
      expect([at(59, claims).state, at(60, claims).state]).toEqual(['OnHold', 'Released'])
    })

    test('keeps a suspension that another writer set after the release', () => {
      const released = at(60).binding
      const theirs = { ...released, spec: { ...released.spec, suspension: { scheduling: true } } }
      expect(at(61, slow, theirs).binding.spec.suspension).toEqual({ scheduling: true })
    })
  })
})

describe('several claims', () => {
  const claims = [
    located(['member1', 'member2'], { claim: 'default/a' }),
    located(['member2', 'member3'], { claim: 'default/b', bytes: 5 }),
    located(['member3'], { claim: 'default/c', enforcement: 'Preferred' }),
  ]
  const orders = [claims, claims.toReversed(), [...claims.slice(1), ...claims.slice(0, 1)]]

  test('give the same bytes in any order', () => {
    const bytes = orders.map((order) => JSON.stringify(decide({ claims: order })))
    expect(new Set(bytes).size).toBe(1)
  })

  test('are all in the annotation, sorted', () => {
    const { locality } = readAnnotations(decide({ claims: claims.toReversed() }).binding.metadata.annotations)
    expect(locality).toEqual({
      state: 'Narrowed',
      required: ['member2'],
      preferred: [['member3']],
      claims: ['default/a', 'default/b', 'default/c'],
      message: expect.any(String),
    })
  })

  test('give the same result in any order of creation', () => {
    const [a, b] = claims as [ClaimAnswer, ClaimAnswer]
    const results = [[a], [b]].map((first) => {
      const before = decide({ claims: first }).binding
      return JSON.stringify(lookAgain(before, [a, b]).binding)
    })
    expect(new Set(results).size).toBe(1)
  })
})

test('a binding with a locality annotation in the request is decided until stable', () => {
  const locality = { state: 'Narrowed', message: 'm', claims: ['default/sales'], required: ['member2'] }
  const evicted = { ...scheduled, gracefulEvictionTasks: [{ fromCluster: 'member2' }] } as Partial<BindingSpec>
  const binding = makeBinding(evicted, { annotations: { [LOCALITY_ANNOTATION]: JSON.stringify(locality) } })
  const claims = [located(['member2'], { rebalance: 'Never' })]
  const first = decide({ binding, claims })

  expect(first.message).toBe('no cluster with the data can take the workload: member2 is being evicted')
  expect(decide({ binding: first.binding, claims })).toEqual(first)
})

describe('the response', () => {
  const answer = (input: Partial<BindingInput>) => answerBinding(decide(input), makeInput(input))

  test('to a narrowing is a patch without a warning, with the decision for the audit log', () => {
    const { binding } = decide({})
    expect(answer({})).toEqual({
      kind: 'patch',
      object: binding,
      auditAnnotations: {
        decision: 'Narrowed',
        reason: expect.stringContaining('member2'),
        'decision-id': bindingDecisionId(binding),
      },
    })
  })

  test('has the id of an unstored decision if another writer suspended the workload', () => {
    const binding = makeBinding({ suspension: { scheduling: true } })
    const { auditAnnotations } = answer({ binding, claims: [unknown()] })
    expect(auditAnnotations).toMatchObject({ decision: 'OnHold', 'decision-id': bindingDecisionId(binding) })
  })

  test('to a decided binding has no patch', () => {
    const binding = narrowed()
    expect(answer({ binding, stored: binding }).kind).toBe('allow')
  })

  test.each<{ name: string; input: Partial<BindingInput>; want: string }>([
    { name: 'a hold', input: { claims: [unknown()] }, want: 'lodestone: on hold: ' },
    {
      name: 'a binding that continues without its data',
      input: { claims: [unknown(ignore)] },
      want: 'lodestone: ignored: ',
    },
    {
      name: 'a binding that is kept',
      input: { binding: narrowed(scheduled), stored: narrowed(scheduled), claims: [unknown()] },
      want: 'lodestone: kept: ',
    },
  ])('has a warning for $name, in one line of at most 120 characters', ({ input, want }) => {
    const claims = (input.claims ?? []).map((claim) => ({ ...claim, claim: `default/${'long-'.repeat(40)}` }))
    for (const outcome of [answer(input), answer({ ...input, claims })]) {
      const [warning = '', ...more] = outcome.warnings ?? []
      expect({
        starts: warning.slice(0, want.length),
        tooLong: warning.length > 120,
        lines: warning.split('\n').length,
        more,
      }).toEqual({ starts: want, tooLong: false, lines: 1, more: [] })
    }
  })
})

test('with more claims than can be combined, a workload is on hold, with the remedy', () => {
  const claims = Array.from({ length: 65 }, (_, i) => located(['member2'], { claim: `default/claim-${i}` }))
  const { state, binding, message } = decideBinding(makeInput({ claims }))
  expect({ state, suspension: binding.spec.suspension }).toEqual({ state: 'OnHold', suspension: { scheduling: true } })
  expect(message).toBe('65 claims: more than 64 claims name this workload; delete some')
})

test('a message is cut before it is written into an annotation', () => {
  const claims = Array.from({ length: 60 }, (_, i) =>
    located(['member2'], { claim: `default/claim-with-a-rather-long-name-${i}` }),
  )
  const { locality } = readAnnotations(decideBinding(makeInput({ claims })).binding.metadata.annotations)
  expect(locality?.message).toHaveLength(1024)
})
