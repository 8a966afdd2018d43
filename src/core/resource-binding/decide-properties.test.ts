/** Properties of the decision for every binding, every placement, every set of claims, any writer and any number of calls. */
import fc from 'fast-check'
import fastJsonPatch, { type Operation } from 'fast-json-patch'
import { describe, expect, test } from 'vitest'
import { DEFAULT_DECISIONS, lookup, makeBinding, makeCluster, NOW } from '../../../test/builders.ts'
import type { AdmissionRequest } from '../../api/admission.ts'
import {
  type Cluster,
  type ClusterAffinity,
  type ClusterAffinityTerm,
  MAX_AFFINITY_NAME_LENGTH,
  type Placement,
  type PlacementAffinity,
  type ResourceBinding,
} from '../../api/karmada.ts'
import { BASE_AFFINITY_ANNOTATION, HOLD_ANNOTATION, LOCALITY_ANNOTATION } from '../../api/lodestone.ts'
import type { LabelSelectorRequirement } from '../../api/meta.ts'
import { encodeResponse } from '../admission/review.ts'
import type { Answer, ClaimAnswer } from '../data-source/locate.ts'
import { bindingDecisionId } from '../decision-id.ts'
import { effectiveAffinity } from '../placement/affinity.ts'
import { SHIPPED_KINDS } from '../workload-kinds/kinds.ts'
import { OUR_ANNOTATIONS, readAnnotations } from './annotations.ts'
import { answerBinding, type BindingDecision, decideBinding } from './decide.ts'
import { decidePlacement, rulesFor } from './decide-placement.ts'
import type { BindingInput } from './input.ts'
import { allowsMoreThanData } from './kept-to-data.ts'
import { parseInput } from './parse-input.ts'
import { situationOf } from './rules/situation.ts'
import { DEFAULT_TIMING } from './timing.ts'

// ---- Karmada's own rules, implemented again from its source (util.ClusterMatches, plugins/clusteraffinity) ----

const UNIVERSE: readonly Cluster[] = [
  makeCluster('c1', { provider: 'aws', region: 'eu', zones: ['eu-1', 'eu-2'] }, { tier: 'core' }),
  makeCluster('c2', { provider: 'aws', region: 'us', zones: ['us-1'] }, { tier: 'core', gpu: 'yes' }),
  makeCluster('c3', { provider: 'gcp', region: 'eu', zones: ['eu-2'] }, { tier: 'edge' }),
  makeCluster('c4', { region: 'us' }, { gpu: 'no' }),
  makeCluster('c5', { provider: 'gcp' }),
]
const NAMES = ['c1', 'c2', 'c3', 'c4', 'c5', 'gone']

function requirementMatches({ operator, values = [] }: LabelSelectorRequirement, actual: string[]): boolean {
  if (operator === 'In') return values.some((value) => actual.includes(value))
  if (operator === 'NotIn') return !values.some((value) => actual.includes(value))
  return operator === 'Exists' ? actual.length > 0 : actual.length === 0
}

function clusterMatches({ metadata, spec }: Cluster, affinity: ClusterAffinity): boolean {
  const labels = metadata.labels ?? {}
  const label = (key: string) => (labels[key] === undefined ? [] : [labels[key]])
  const fields: Record<string, string[]> = {
    provider: spec.provider === undefined ? [] : [spec.provider],
    region: spec.region === undefined ? [] : [spec.region],
    zone: spec.zones ?? [],
  }
  const name = metadata.name ?? ''
  if (affinity.exclude?.includes(name)) return false
  for (const [key, value] of Object.entries(affinity.labelSelector?.matchLabels ?? {})) {
    if (labels[key] !== value) return false
  }
  for (const requirement of affinity.labelSelector?.matchExpressions ?? []) {
    if (!requirementMatches(requirement, label(requirement.key))) return false
  }
  for (const requirement of affinity.fieldSelector?.matchExpressions ?? []) {
    if (!requirementMatches(requirement, fields[requirement.key] ?? [])) return false
  }
  return !affinity.clusterNames?.length || affinity.clusterNames.includes(name)
}

/** The clusters that the scheduler's affinity filter allows, in any of the groups. */
function feasible(placement: Placement, workload: boolean): Set<string> {
  const affinities = placement.clusterAffinity
    ? [placement.clusterAffinity]
    : (placement.clusterAffinities ?? []).flatMap((term) => [
        term as ClusterAffinity,
        ...(workload ? (term.overflowAffinities ?? []) : []),
      ])
  const passing = UNIVERSE.filter(
    (cluster) => affinities.length === 0 || affinities.some((affinity) => clusterMatches(cluster, affinity)),
  )
  return new Set(passing.map(({ metadata }) => metadata.name ?? ''))
}

function isWorkload({ spec }: ResourceBinding): boolean {
  return (spec.replicas ?? 0) > 0
}

// ---- generators ----

const names = (options: { minLength?: number } = {}) => fc.subarray(NAMES, options)
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 2 })

/** An object with the generated members; absent members are absent, not undefined. */
function members<T extends object>(shape: { [K in keyof T]: fc.Arbitrary<T[K] | undefined> }): fc.Arbitrary<T> {
  return fc
    .record(shape as Record<string, fc.Arbitrary<unknown>>)
    .map((drawn) => Object.fromEntries(Object.entries(drawn).filter(([, value]) => value !== undefined)) as T)
}

const requirement = (values: Record<string, string[]>): fc.Arbitrary<LabelSelectorRequirement> =>
  fc.constantFrom(...Object.keys(values)).chain((key) =>
    fc.oneof(
      fc.record({
        key: fc.constant(key),
        operator: fc.constantFrom('In', 'NotIn'),
        values: fc.subarray(values[key] ?? [], { minLength: 1 }),
      }),
      fc.record({ key: fc.constant(key), operator: fc.constantFrom('Exists', 'DoesNotExist') }),
    ),
  )

const labelSelector = members<NonNullable<ClusterAffinity['labelSelector']>>({
  matchLabels: maybe(fc.constantFrom({}, { tier: 'core' }, { gpu: 'yes' })),
  matchExpressions: maybe(fc.array(requirement({ tier: ['core', 'edge'], gpu: ['yes', 'no'] }), { maxLength: 2 })),
})

const fieldSelector = members<NonNullable<ClusterAffinity['fieldSelector']>>({
  matchExpressions: maybe(
    fc.array(requirement({ provider: ['aws', 'gcp'], region: ['eu', 'us'], zone: ['eu-1', 'eu-2', 'us-1'] }), {
      maxLength: 2,
    }),
  ),
})

const affinityShape = {
  clusterNames: maybe(names()),
  exclude: maybe(names({ minLength: 0 }).filter((excluded) => excluded.length < 3)),
  labelSelector: fc.option(labelSelector, { nil: undefined, freq: 1 }),
  fieldSelector: fc.option(fieldSelector, { nil: undefined, freq: 1 }),
}

const affinity = members<ClusterAffinity>(affinityShape)

const groups: fc.Arbitrary<ClusterAffinityTerm[]> = fc
  .array(fc.tuple(affinity, maybe(fc.array(affinity, { minLength: 1, maxLength: 2 }))), { minLength: 1, maxLength: 3 })
  .map((drawn) =>
    drawn.map(([own, overflow], i) => ({
      ...own,
      affinityName: ['primary', 'primary-local', 'backup-with-a-name-of-32-letters'][i] as string,
      ...(overflow && { overflowAffinities: overflow.map((tier, j) => ({ ...tier, affinityName: `tier-${j}` })) }),
    })),
  )

const placementAffinity: fc.Arbitrary<PlacementAffinity> = fc.oneof(
  { weight: 1, arbitrary: fc.constant({}) },
  { weight: 4, arbitrary: affinity.map((clusterAffinity) => ({ clusterAffinity })) },
  { weight: 4, arbitrary: groups.map((clusterAffinities) => ({ clusterAffinities })) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(affinity, groups)
      .map(([clusterAffinity, clusterAffinities]) => ({ clusterAffinity, clusterAffinities })),
  },
)

const placement: fc.Arbitrary<Placement> = fc
  .tuple(
    placementAffinity,
    members<Placement>({
      spreadConstraints: fc.option(
        fc.constantFrom(
          [{ spreadByField: 'cluster', minGroups: 2, maxGroups: 3 }],
          [{ spreadByField: 'region', minGroups: 2, maxGroups: 2 }],
        ),
        { nil: undefined, freq: 1 },
      ),
      replicaScheduling: fc.option(fc.constant({ replicaSchedulingType: 'Divided' }), { nil: undefined, freq: 1 }),
    }),
  )
  .map(([where, rest]) => ({ ...rest, ...where }))

const answer: fc.Arbitrary<Answer> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('located' as const),
      clusters: names({ minLength: 1 }),
      bytes: maybe(fc.constantFrom(0, 10, 20, 5_000_000_000)),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'nowhere' as const, reason: 'there is no such data' }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'unknown' as const, reason: 'never asked' }) },
)

const claim = (name: string): fc.Arbitrary<ClaimAnswer> =>
  fc.record({
    claim: fc.constant(name),
    enforcement: fc.constantFrom('Required', 'Required', 'Preferred'),
    onUnresolved: fc.constantFrom('Hold', 'Ignore'),
    onUnsatisfiable: fc.constantFrom('Hold', 'Ignore'),
    rebalance: fc.constantFrom('Auto', 'Always', 'Never'),
    holdTimeoutSeconds: maybe(fc.constantFrom(1, 60)),
    answer,
  })

const claims: fc.Arbitrary<ClaimAnswer[]> = fc
  .subarray(['default/a', 'default/b', 'default/c'])
  .chain((drawn) => fc.tuple(...drawn.map(claim)))

const scheduled = fc.option(fc.subarray(['c1', 'c2', 'c3'], { minLength: 1 }), { nil: undefined, freq: 1 })

const foreign = fc.dictionary(
  fc.constantFrom('extra', '__proto__', 'constructor', 'a/b~c', 'toString'),
  fc.oneof(fc.constant(null), fc.constant([]), fc.constant({}), fc.string(), fc.integer()),
  { maxKeys: 2 },
)

const binding: fc.Arbitrary<ResourceBinding> = fc
  .record({
    placement,
    clusters: scheduled,
    kind: fc.constantFrom('Deployment', 'Job', 'ConfigMap'),
    suspension: fc.option(fc.constantFrom({}, { dispatching: true }, { scheduling: true, dispatching: false }), {
      nil: undefined,
      freq: 1,
    }),
    evicted: fc.option(fc.subarray(['c1', 'c2'], { minLength: 1 }), { nil: undefined, freq: 1 }),
    extras: fc.tuple(foreign, foreign, foreign, foreign),
  })
  .map(({ placement: where, clusters, kind, suspension, evicted, extras: [top, metadata, spec, place] }) => {
    const plain = makeBinding(
      {
        ...spec,
        placement: { ...place, ...where },
        resource: { apiVersion: GROUP_OF_KIND[kind] ?? 'v1', kind, namespace: 'default', name: 'app' },
        replicas: kind === 'ConfigMap' ? 0 : 2,
        ...(clusters && { clusters: clusters.map((name) => ({ name, replicas: 1 })) }),
        ...(suspension && { suspension }),
        ...(evicted && { gracefulEvictionTasks: evicted.map((fromCluster) => ({ fromCluster })) }),
      },
      { ...metadata, finalizers: ['karmada.io/binding-controller'] },
    )
    return { ...top, ...plain }
  })

const GROUP_OF_KIND: Record<string, string> = { Deployment: 'apps/v1', Job: 'batch/v1' }

const policyView = fc.record({ placement, lazy: fc.boolean(), requiresClaim: fc.boolean() })
const clusterLookup = fc.constantFrom(undefined, lookup(...UNIVERSE))

const creation: fc.Arbitrary<BindingInput> = fc.record({
  binding,
  stored: fc.constant(undefined),
  claims,
  policy: fc.option(policyView, { nil: undefined }),
  clusters: clusterLookup,
  kinds: fc.constant(SHIPPED_KINDS),
  timing: fc.constant(DEFAULT_TIMING),
  now: fc.constant(NOW),
})

/** Our annotations with any content that a requester may send. */
const forgedNotes: fc.Arbitrary<Record<string, string>> = fc
  .record(
    {
      [BASE_AFFINITY_ANNOTATION]: placementAffinity,
      [LOCALITY_ANNOTATION]: fc.record({
        state: fc.constantFrom('Narrowed', 'Kept', 'Relaxed'),
        message: fc.constant('forged'),
        claims: fc.constant(['default/a']),
        required: names(),
        returned: fc.record({
          at: fc.constantFrom('2020-01-01T00:00:00Z', '9999-01-01T00:00:00Z', new Date(NOW).toISOString()),
          times: fc.constantFrom(1, 8, 1e9),
        }),
      }),
      [HOLD_ANNOTATION]: fc.record({
        message: fc.constant('forged'),
        reason: fc.constant('Unresolved'),
        since: fc.constantFrom('2020-01-01T00:00:00Z', new Date(NOW).toISOString()),
        released: fc.boolean(),
      }),
    },
    { requiredKeys: [] },
  )
  .map((drawn) => Object.fromEntries(Object.entries(drawn).map(([key, value]) => [key, JSON.stringify(value)])))

// ---- helpers ----

function withAnnotations(object: ResourceBinding, annotations: Record<string, string>): ResourceBinding {
  return {
    ...object,
    metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, ...annotations } },
  }
}

function again(input: BindingInput, decision: BindingDecision): BindingInput {
  return { ...input, binding: decision.binding }
}

function affinityIn({ spec }: ResourceBinding): PlacementAffinity {
  const { clusterAffinity, clusterAffinities } = spec.placement ?? {}
  return { ...(clusterAffinity && { clusterAffinity }), ...(clusterAffinities && { clusterAffinities }) }
}

function emptiesIn(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return []
  const entries = Object.entries(value)
  return entries.length === 0 ? [path] : entries.flatMap(([key, member]) => emptiesIn(member, `${path}/${key}`))
}

function listsIn(affinity: PlacementAffinity): string[][] {
  const tiers = affinity.clusterAffinities?.flatMap((term) => [term, ...(term.overflowAffinities ?? [])])
  return (tiers ?? [affinity.clusterAffinity ?? {}]).flatMap(({ clusterNames }) => (clusterNames ? [clusterNames] : []))
}

/** The binding without the fields that Lodestone may write. */
function foreignPart({ metadata, spec, ...rest }: ResourceBinding): unknown {
  const { annotations, ...otherMetadata } = metadata
  const { placement: where, suspension, ...otherSpec } = spec
  const { clusterAffinity: _one, clusterAffinities: _groups, ...otherPlacement } = where ?? {}
  const { scheduling: _scheduling, ...siblings } = suspension ?? {}
  const others = Object.entries(annotations ?? {}).filter(([key]) => !OUR_ANNOTATIONS.some((our) => our === key))
  return { rest, otherMetadata, otherSpec, otherPlacement, siblings, others }
}

const runs = { numRuns: 400 }

test('each rule decides only the states that its row of the table names', () => {
  fc.assert(
    fc.property(creation, maybe(forgedNotes), fc.boolean(), (input, forged, isStored) => {
      const drawn = forged ? withAnnotations(input.binding, forged) : input.binding
      const parsed = parseInput({ ...input, binding: drawn, stored: isStored ? drawn : undefined })
      for (const base of [affinityIn(drawn), affinityIn({ ...drawn, spec: { ...drawn.spec, placement: {} } })]) {
        const situation = situationOf(parsed, base)
        const { state } = decidePlacement(parsed, base)
        const rule = rulesFor(parsed).find((each) => each.decide(situation))
        expect(rule?.states).toContain(state)
      }
    }),
    { numRuns: 2000 },
  )
})

test('a decision returns annotations with the id of the binding that it wrote', () => {
  fc.assert(
    fc.property(creation, forgedNotes, maybe(fc.tuple(binding, forgedNotes)), (input, forged, drawn) => {
      const stored = drawn && withAnnotations(drawn[0], drawn[1])
      const given = { ...input, binding: withAnnotations(input.binding, forged), stored }
      const { binding: written, decided } = decideBinding(given)
      expect(bindingDecisionId(written, decided)).toBe(bindingDecisionId(written))
    }),
    { numRuns: 2000 },
  )
})

describe('a new binding', () => {
  test('gets the same bytes when the API server sends our own answer again', () => {
    fc.assert(
      fc.property(creation, (input) => {
        const first = decideBinding(input)
        const second = decideBinding(again(input, first))
        expect(JSON.stringify(second.binding)).toBe(JSON.stringify(first.binding))
      }),
      runs,
    )
  })

  test('gets a stable decision for any content of our annotations in the request', () => {
    fc.assert(
      fc.property(creation, forgedNotes, maybe(fc.tuple(binding, forgedNotes)), (input, forged, drawn) => {
        const stored = drawn && withAnnotations(drawn[0], drawn[1])
        const given = { ...input, binding: withAnnotations(input.binding, forged), stored }
        const first = decideBinding(given)
        const second = decideBinding(again(given, first))
        expect(JSON.stringify(second.binding)).toBe(JSON.stringify(first.binding))
      }),
      { numRuns: 2000 },
    )
  })

  test('gets the same bytes for any order of its claims', () => {
    fc.assert(
      fc.property(creation, fc.infiniteStream(fc.integer()), (input, order) => {
        const shuffled = input.claims
          .map((each) => ({ each, rank: order.next().value ?? 0 }))
          .toSorted((a, b) => a.rank - b.rank)
          .map(({ each }) => each)
        const other = decideBinding({ ...input, claims: shuffled })
        expect(JSON.stringify(other)).toBe(JSON.stringify(decideBinding(input)))
      }),
      runs,
    )
  })

  test('is never allowed on a cluster that its own placement excludes', () => {
    fc.assert(
      fc.property(creation, (input) => {
        const before = feasible(input.binding.spec.placement ?? {}, isWorkload(input.binding))
        const { binding: decided, state } = decideBinding(input)
        const after = feasible(decided.spec.placement ?? {}, isWorkload(decided))
        expect(state).not.toBe('Widened')
        expect([...after].filter((name) => !before.has(name))).toEqual([])
      }),
      runs,
    )
  })

  test('is allowed only in clusters with all required data, after it is narrowed', () => {
    fc.assert(
      fc.property(creation, (input) => {
        const { binding: decided, state } = decideBinding(input)
        if (state !== 'Narrowed') return
        const after = feasible(decided.spec.placement ?? {}, isWorkload(decided))
        for (const { enforcement, answer: where, claim: name } of input.claims) {
          if (enforcement !== 'Required' || where.kind !== 'located') continue
          const elsewhere = [...after].filter((cluster) => !where.clusters.includes(cluster))
          expect({ name, elsewhere }).toEqual({ name, elsewhere: [] })
        }
      }),
      runs,
    )
  })

  test('follows the facts that the policies of the API server state', () => {
    fc.assert(
      fc.property(creation, (input) => expectFacts(input, decideBinding(input).binding)),
      runs,
    )
  })

  test('keeps every cluster of its placement as a fallback if nothing is required', () => {
    fc.assert(
      fc.property(creation, (input) => {
        if (input.claims.some(({ enforcement }) => enforcement === 'Required')) return
        const before = feasible(input.binding.spec.placement ?? {}, isWorkload(input.binding))
        const { binding: decided } = decideBinding(input)
        expect(feasible(decided.spec.placement ?? {}, isWorkload(decided))).toEqual(before)
      }),
      runs,
    )
  })

  test('gets no empty list or map, one kind of affinity, sorted names, short group names', () => {
    fc.assert(
      fc.property(creation, (input) => {
        const { binding: decided, state } = decideBinding(input)
        const written = affinityIn(decided)
        expect(state === 'Untouched' || Object.keys(written).length < 2).toBe(true)
        const base = input.binding.spec.placement
        const isBase = [base?.clusterAffinity, base?.clusterAffinities].some(
          (part) => part === (written.clusterAffinity ?? written.clusterAffinities),
        )
        if (isBase) return
        const groupNames = (written.clusterAffinities ?? []).map(({ affinityName }) => affinityName)
        expect({
          empties: emptiesIn(written),
          unsorted: readAnnotations(decided.metadata.annotations).locality?.required
            ? listsIn(written).filter((list) => JSON.stringify(list) !== JSON.stringify(list.toSorted()))
            : [],
          tooLong: groupNames.filter((name) => name.length > MAX_AFFINITY_NAME_LENGTH),
          unique: new Set(groupNames).size === groupNames.length,
        }).toEqual({ empties: [], unsorted: [], tooLong: [], unique: true })
      }),
      runs,
    )
  })

  test('keeps all other fields, and is the same object if nothing changes', () => {
    fc.assert(
      fc.property(creation, (input) => {
        const before = JSON.stringify(input.binding)
        const { binding: decided } = decideBinding(input)
        expect(JSON.stringify(foreignPart(decided))).toBe(JSON.stringify(foreignPart(input.binding)))
        expect(JSON.stringify(input.binding)).toBe(before)
        expect(decided === input.binding).toBe(JSON.stringify(decided) === before)
      }),
      runs,
    )
  })

  test('is answered with a patch to the decided binding, whose JSON is decided equally', () => {
    fc.assert(
      fc.property(creation, (input) => {
        const request: AdmissionRequest = {
          uid: 'uid',
          kind: { group: 'work.karmada.io', version: 'v1alpha2', kind: 'ResourceBinding' },
          resource: { group: 'work.karmada.io', version: 'v1alpha2', resource: 'resourcebindings' },
          operation: 'CREATE',
          object: structuredClone(input.binding),
        }
        const decision = decideBinding(input)
        const response = encodeResponse(request, answerBinding(decision, input), (text) => text)
        const operations = JSON.parse(response.patch ?? '[]') as Operation[]
        const sent = JSON.parse(JSON.stringify(input.binding)) as ResourceBinding
        const { newDocument } = fastJsonPatch.applyPatch(sent, operations, true)
        expect(newDocument).toEqual(JSON.parse(JSON.stringify(decision.binding)))
        expect(operations.length === 0).toBe(decision.binding === input.binding)
        const decoded = JSON.parse(JSON.stringify(input.binding)) as ResourceBinding
        expect(JSON.stringify(decideBinding({ ...input, binding: decoded }))).toBe(JSON.stringify(decision))
      }),
      runs,
    )
  })

  test('is never on hold after it is scheduled', () => {
    fc.assert(
      fc.property(creation, (input) => {
        const { spec } = input.binding
        if (!spec.clusters?.length && !spec.gracefulEvictionTasks?.length) return
        const { binding: decided, state } = decideBinding(input)
        expect(state).not.toBe('OnHold')
        expect(decided.spec.suspension).toEqual(spec.suspension)
      }),
      runs,
    )
  })
})

describe('a sequence of writes to a binding', () => {
  type Write =
    | { kind: 'detector' }
    | { kind: 'scheduler'; clusters: string[] }
    | { kind: 'evictor'; from: string[] }
    | { kind: 'policy'; placement: Placement }
    | { kind: 'editor'; placement: Placement }
    | { kind: 'data'; claims: ClaimAnswer[] }
    | { kind: 'somebody'; annotation: string }
    | { kind: 'time'; seconds: number }
    /** The object is deleted without its binding, or created again. */
    | { kind: 'owner'; isGone: boolean }
    | { kind: 'loop' }

  const write: fc.Arbitrary<Write> = fc.oneof(
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('detector' as const) }) },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant('scheduler' as const), clusters: fc.subarray(['c1', 'c2', 'c3']) }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('evictor' as const), from: fc.subarray(['c1', 'c2']) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('policy' as const), placement }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('editor' as const), placement }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('data' as const), claims }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('somebody' as const), annotation: fc.string() }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('time' as const), seconds: fc.constantFrom(1, 100) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('owner' as const), isGone: fc.boolean() }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('loop' as const) }) },
  )

  const life = fc.record({
    first: placement,
    firstClaims: claims,
    writes: fc.array(write, { minLength: 1, maxLength: 8 }),
    policyIs: fc.constantFrom('cached', 'lazy', 'unknown'),
    requiresClaim: fc.boolean(),
    workload: fc.boolean(),
    clusters: clusterLookup,
    leavesMovesToLoop: fc.boolean(),
  })

  /** Applies a sequence of writes. `check` receives every write with the placements in force before and after it. */
  function play(
    {
      first,
      firstClaims,
      writes,
      policyIs,
      requiresClaim,
      workload,
      clusters,
      leavesMovesToLoop,
    }: typeof life extends fc.Arbitrary<infer T> ? T : never,
    check: (input: BindingInput, decision: BindingDecision, inForce: Placement[]) => void,
  ): void {
    let claimsNow = firstClaims
    let policyNow = first
    let applied = first
    const everInForce = [first]
    let now = NOW
    let isOrphaned = false
    let stored: ResourceBinding | undefined
    const admit = (sent: ResourceBinding): void => {
      const policy =
        policyIs === 'unknown' ? undefined : { placement: policyNow, lazy: policyIs === 'lazy', requiresClaim }
      const context = { policy, clusters, now, leavesMovesToLoop, isOrphaned }
      const input = { ...DEFAULT_DECISIONS, binding: sent, stored, claims: claimsNow, ...context }
      const decision = decideBinding(input)
      // If a policy is known and applied, only it counts. Otherwise an earlier base may apply, since the affinity equals the stored one.
      everInForce.push(applied, policyNow)
      check(input, decision, policyIs === 'cached' && applied === policyNow ? [policyNow] : everInForce)
      // As the API server stores it: JSON, with the members in another order.
      stored = JSON.parse(JSON.stringify(decision.binding)) as ResourceBinding
    }
    admit(makeBinding({ placement: first, replicas: workload ? 2 : 0 }))
    for (const each of writes) {
      const current = stored as ResourceBinding | undefined
      if (!current) throw new Error('nothing is stored')
      const { spec } = current
      switch (each.kind) {
        case 'detector':
          applied = policyNow
          admit({ ...current, spec: { ...spec, placement: policyNow } })
          break
        case 'editor':
          // With a policy in force, a manual change does not last: the policy applies again at the next write.
          if (policyIs === 'cached') break
          applied = each.placement
          admit({ ...current, spec: { ...spec, placement: each.placement } })
          break
        case 'scheduler':
          if (spec.suspension?.scheduling) break
          admit({ ...current, spec: { ...spec, clusters: each.clusters.map((name) => ({ name, replicas: 1 })) } })
          break
        case 'evictor':
          if (!spec.clusters?.length) break
          admit({
            ...current,
            spec: { ...spec, gracefulEvictionTasks: each.from.map((fromCluster) => ({ fromCluster })) },
          })
          break
        case 'somebody':
          admit({
            ...current,
            metadata: { ...current.metadata, annotations: { ...current.metadata.annotations, note: each.annotation } },
          })
          break
        case 'loop':
          admit(current)
          break
        case 'policy':
          policyNow = each.placement
          break
        case 'data':
          claimsNow = each.claims
          break
        case 'owner':
          isOrphaned = each.isGone
          break
        case 'time':
          now += each.seconds * 1000
          break
      }
    }
  }

  test('gets the same decision when the API server sends our answer to an update again', () => {
    fc.assert(
      fc.property(life, (drawn) => {
        play(drawn, (input, decision) => {
          const second = decideBinding(again(input, decision))
          expect(JSON.stringify(second.binding)).toBe(JSON.stringify(decision.binding))
        })
      }),
      runs,
    )
  })

  test('never widens the placement beyond a policy that was in force', () => {
    fc.assert(
      fc.property(life, (drawn) => {
        play(drawn, (_input, { state, binding: decided }, inForce) => {
          expect(state).not.toBe('Widened')
          const after = [...feasible(decided.spec.placement ?? {}, drawn.workload)]
          const outside = inForce.map((where) => {
            const allowed = feasible(where, drawn.workload)
            return after.filter((name) => !allowed.has(name))
          })
          expect(outside.some((names) => names.length === 0)).toBe(true)
        })
      }),
      runs,
    )
  })

  test('by the loop is not changed by admission', () => {
    fc.assert(
      fc.property(life, (drawn) => {
        play(drawn, (input, { binding: stored }) => {
          const planned = decideBinding({ ...input, binding: stored, stored, leavesMovesToLoop: false }).binding
          const admitted = decideBinding({ ...input, binding: planned, stored, leavesMovesToLoop: true }).binding
          expect(admitted).toBe(planned)
        })
      }),
      runs,
    )
  })

  const baseOf = ({ metadata, spec }: ResourceBinding) =>
    readAnnotations(metadata.annotations).base ?? effectiveAffinity(spec.placement)

  test('keeps its base when the loop has newer caches than the replica at admission', () => {
    fc.assert(
      fc.property(life, claims, (drawn, claimsOfLoop) => {
        // A known policy gives the base at every write. Without a policy, only the annotation has the base.
        play({ ...drawn, policyIs: 'unknown' }, (input, { binding: stored }) => {
          const planned = decideBinding({ ...input, binding: stored, stored, claims: claimsOfLoop }).binding
          const behind = decideBinding({ ...input, binding: planned, stored }).binding
          const settled = decideBinding({ ...input, binding: behind, stored: behind }).binding
          expect(baseOf(settled)).toEqual(baseOf(planned))
        })
      }),
      runs,
    )
  })

  test('is written once: the stored binding gets no further change', () => {
    fc.assert(
      fc.property(life, (drawn) => {
        play(drawn, (input, { binding: decided }) => {
          const settled = decideBinding({ ...input, binding: decided, stored: decided })
          const next = decideBinding({ ...input, binding: settled.binding, stored: settled.binding })
          expect(next.binding).toBe(settled.binding)
        })
      }),
      runs,
    )
  })

  test('follows the facts that the policies of the API server state', () => {
    fc.assert(
      fc.property(life, (drawn) => {
        play(drawn, (input, { binding: decided }) => expectFacts(input, decided))
      }),
      runs,
    )
  })

  test('is on hold only while it is not scheduled, and the fields of other writers stay', () => {
    fc.assert(
      fc.property(life, (drawn) => {
        play(drawn, (input, { state, binding: decided }) => {
          const objects = [input.binding, input.stored]
          const isScheduled = objects.some((b) => b?.spec.clusters?.length || b?.spec.gracefulEvictionTasks?.length)
          expect({ isScheduled, held: state === 'OnHold' && isScheduled }).toEqual({ isScheduled, held: false })
          expect(JSON.stringify(foreignPart(decided))).toBe(JSON.stringify(foreignPart(input.binding)))
        })
      }),
      runs,
    )
  })
})

/** The facts of webhooks/absence.ts. A write for which one does not hold would be rejected while Lodestone runs. */
function expectFacts({ binding: { spec }, stored, claims }: BindingInput, decided: ResourceBinding): void {
  const { hold, locality } = readAnnotations(decided.metadata.annotations)
  const isHeld = hold !== undefined && !hold.released
  const wasScheduled =
    stored?.spec.gracefulEvictionTasks !== undefined || stored?.status?.lastScheduledTime !== undefined
  const isNew = !stored?.spec.clusters?.length && !wasScheduled
  const holds = claims.some(
    ({ enforcement, onUnresolved, onUnsatisfiable }) =>
      enforcement === 'Required' && onUnresolved === 'Hold' && onUnsatisfiable === 'Hold',
  )
  const isUndecided = isNew && !spec.clusters?.length && holds && hold === undefined && locality === undefined
  expect({ allowsMore: allowsMoreThanData(decided), isUndecided }).toEqual({ allowsMore: false, isUndecided: false })
  expect(isHeld && decided.spec.suspension?.scheduling !== true).toBe(false)
}
