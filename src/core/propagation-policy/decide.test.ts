import { describe, expect, test } from 'vitest'
import { makePolicy } from '../../../test/builders.ts'
import type { PropagationPolicy, PropagationSpec } from '../../api/karmada.ts'
import { PROPAGATE_DEPS_ANNOTATION, PROPAGATE_DEPS_SET_ANNOTATION } from '../../api/lodestone.ts'
import { LAST_APPLIED_ANNOTATION, type ObjectMeta } from '../../api/meta.ts'
import { defined } from '../../base/json.ts'
import { diffJson } from '../admission/diff.ts'
import { answerPolicy, type DataBound, decidePolicy, isUndecided, type PolicyInput, validatePolicy } from './decide.ts'

const SET = { [PROPAGATE_DEPS_SET_ANNOTATION]: 'true' }
const NO = { [PROPAGATE_DEPS_ANNOTATION]: 'false' }
const APPLIED_FALSE = { [LAST_APPLIED_ANNOTATION]: '{"spec":{"propagateDeps":false}}' }
const claimed: DataBound = { workload: 'Deployment default/app', claim: 'default/sales' }

function input(change: Partial<PolicyInput> = {}): PolicyInput {
  return { policy: makePolicy(), stored: undefined, mode: 'dataBound', dataBound: claimed, ...change }
}

const policy = (spec: Partial<PropagationSpec> = {}, metadata: ObjectMeta = {}) => makePolicy(spec, metadata)
const on = { propagateDeps: true }
const off = { propagateDeps: false }

interface Case {
  name: string
  change: Partial<PolicyInput>
  state: string
  /** The field and the annotation after the decision. */
  want: { deps?: boolean; annotation?: string; set?: string }
}

const cases: Case[] = [
  {
    name: 'a policy that selects a data-bound workload propagates',
    change: {},
    state: 'Propagated',
    want: { deps: true, set: 'true' },
  },
  {
    name: 'a policy that selects no data-bound workload is not changed',
    change: { dataBound: undefined },
    state: 'Untouched',
    want: {},
  },
  { name: 'in mode never, nothing is changed', change: { mode: 'never' }, state: 'Untouched', want: {} },
  {
    name: 'in mode never, the choice of the author is not recorded',
    change: { mode: 'never', policy: policy(off) },
    state: 'Untouched',
    want: { deps: false },
  },
  {
    name: 'in mode always, every policy propagates',
    change: { mode: 'always', dataBound: undefined },
    state: 'Propagated',
    want: { deps: true, set: 'true' },
  },
  {
    name: 'in mode always, the author may decline too',
    change: { mode: 'always', policy: policy({}, { annotations: NO }) },
    state: 'Declined',
    want: { annotation: 'false' },
  },
  {
    name: 'a policy that propagates already is not changed',
    change: { policy: policy(on) },
    state: 'Untouched',
    want: { deps: true },
  },
  {
    name: 'a false is kept, and recorded before Karmada removes it',
    change: { policy: policy(off) },
    state: 'Declined',
    want: { deps: false, annotation: 'false' },
  },
  {
    name: 'a false is recorded also without a data-bound workload: a claim may be created later',
    change: { policy: policy(off), dataBound: undefined },
    state: 'Declined',
    want: { deps: false, annotation: 'false' },
  },
  {
    name: 'a recorded false changes nothing',
    change: { policy: policy(off, { annotations: NO }) },
    state: 'Declined',
    want: { deps: false, annotation: 'false' },
  },
  {
    name: 'the annotation alone declines',
    change: { policy: policy({}, { annotations: NO }) },
    state: 'Declined',
    want: { annotation: 'false' },
  },
  {
    name: 'another value of the annotation is ignored',
    change: { policy: policy({}, { annotations: { [PROPAGATE_DEPS_ANNOTATION]: 'no' } }) },
    state: 'Propagated',
    want: { deps: true, annotation: 'no', set: 'true' },
  },
  {
    name: 'a false in the applied manifest is honored, even if Lodestone did not record it',
    change: { policy: policy({}, { annotations: APPLIED_FALSE }) },
    state: 'Declined',
    want: {},
  },
  {
    name: 'a false disables the propagation',
    change: { policy: policy(off), stored: policy(on) },
    state: 'Declined',
    want: { deps: false, annotation: 'false' },
  },
  {
    name: 'a true after a decline ends the decline',
    change: { policy: policy(on, { annotations: NO }), stored: policy({}, { annotations: NO }) },
    state: 'Accepted',
    want: { deps: true },
  },
  {
    name: "a true beside the annotation at creation may be Karmada's, so the annotation stays",
    change: { policy: policy(on, { annotations: NO }) },
    state: 'Untouched',
    want: { deps: true, annotation: 'false' },
  },
  {
    name: 'an annotation that is applied again beside a true stays, so that two writers do not overwrite each other',
    change: { policy: policy(on, { annotations: NO }), stored: policy(on) },
    state: 'Untouched',
    want: { deps: true, annotation: 'false' },
  },
  {
    name: 'an annotation that declines what Lodestone set removes it',
    change: { policy: policy(on, { annotations: { ...NO, ...SET } }), stored: policy(on, { annotations: SET }) },
    state: 'Declined',
    want: { annotation: 'false' },
  },
  {
    name: 'a false over what Lodestone set removes the note',
    change: { policy: policy(off, { annotations: SET }), stored: policy(on, { annotations: SET }) },
    state: 'Declined',
    want: { deps: false, annotation: 'false' },
  },
  {
    name: 'a note without the field is removed',
    change: { policy: policy({}, { annotations: SET }), dataBound: undefined },
    state: 'Untouched',
    want: {},
  },
  {
    name: 'a policy that Lodestone changed is not changed, also without a data-bound workload: the loop waits first',
    change: { policy: policy(on, { annotations: SET }), dataBound: undefined },
    state: 'Untouched',
    want: { deps: true, set: 'true' },
  },
  {
    name: 'a policy that is being deleted is not changed',
    change: { policy: policy({}, { deletionTimestamp: '2026-01-01T00:00:00Z' }) },
    state: 'Untouched',
    want: {},
  },
]

const said = ({ spec, metadata }: PropagationPolicy) =>
  defined({
    deps: spec.propagateDeps,
    annotation: metadata.annotations?.[PROPAGATE_DEPS_ANNOTATION] || undefined,
    set: metadata.annotations?.[PROPAGATE_DEPS_SET_ANNOTATION] || undefined,
  })

describe('the decision on a policy', () => {
  test.each(cases)('$name', ({ change, state, want }) => {
    const decision = decidePolicy(input(change))

    expect({ state: decision.state, ...said(decision.policy) }).toEqual({ state, ...want })
  })

  test.each(cases)('changes only the field and its annotations: $name', ({ change }) => {
    const given = input(change)
    // The policy as Karmada's webhook and an administrator may write it: with unknown fields, and with fields that must not change.
    const policy = {
      ...given.policy,
      metadata: { ...given.policy.metadata, labels: { 'propagationpolicy.karmada.io/permanent-id': 'p' } },
      spec: {
        ...given.policy.spec,
        schedulerName: 'mine',
        failover: { application: { decisionConditions: { tolerationSeconds: 5 } } },
      },
    }

    const changes = diffJson(policy, decidePolicy({ ...given, policy }).policy)

    const allowed = [
      { op: 'add', path: '/spec/propagateDeps', value: true },
      { op: 'add', path: '/metadata/annotations', value: NO },
      { op: 'remove', path: '/metadata/annotations/lodestone.dev~1propagate-deps' },
      { op: 'remove', path: '/spec/propagateDeps' },
      { op: 'add', path: '/metadata/annotations', value: SET },
      { op: 'add', path: '/metadata/annotations/lodestone.dev~1propagate-deps-set', value: 'true' },
      { op: 'add', path: '/metadata/annotations/lodestone.dev~1propagate-deps', value: 'false' },
      { op: 'remove', path: '/metadata/annotations/lodestone.dev~1propagate-deps-set' },
    ]
    expect(changes.length).toBeLessThanOrEqual(2)
    for (const change of changes) expect(allowed).toContainEqual(change)
  })

  test.each(cases)('a second decision on its result changes nothing: $name', ({ change }) => {
    const { policy } = decidePolicy(input(change))

    expect(decidePolicy(input({ ...change, policy })).policy).toBe(policy)
  })

  /** Applies Go's omitempty, which removes a false. */
  function throughKarmada({ spec: { propagateDeps, ...spec }, ...policy }: PropagationPolicy): PropagationPolicy {
    return { ...policy, spec: { ...spec, ...defined({ propagateDeps: propagateDeps || undefined }) } }
  }

  test.each(cases)("a second decision after Karmada's webhook changes nothing: $name", ({ change }) => {
    const policy = throughKarmada(decidePolicy(input(change)).policy)

    expect(decidePolicy(input({ ...change, policy })).policy).toBe(policy)
  })

  test('a false stays after later updates without the field', () => {
    const created = throughKarmada(decidePolicy(input({ policy: policy(off) })).policy)
    const scaled = { ...created, spec: { ...created.spec, priority: 3 } }

    expect(decidePolicy(input({ policy: scaled, stored: created }))).toMatchObject({
      state: 'Declined',
      policy: scaled,
    })
  })
})

test.each([
  { name: 'without the field', policy: policy(), want: true },
  { name: 'that propagates', policy: policy(on), want: false },
  { name: 'that propagates in spite of its annotation', policy: policy(on, { annotations: NO }), want: false },
  { name: 'whose author declines', policy: policy({}, { annotations: NO }), want: false },
  { name: 'whose manifest declines', policy: policy({}, { annotations: APPLIED_FALSE }), want: false },
])('a policy $name is undecided: $want', ({ policy, want }) => {
  expect(isUndecided(policy)).toBe(want)
})

describe('the answer', () => {
  const annotation = 'annotation lodestone.dev/propagate-deps: "false"'
  test.each<{ name: string; change: Partial<PolicyInput>; warning?: string; decision: string; reason: string }>([
    {
      name: 'set for a claim',
      change: {},
      warning: 'lodestone: propagateDeps set: DataSourceClaim default/sales names Deployment default/app',
      decision: 'Propagated',
      reason: 'DataSourceClaim default/sales names Deployment default/app',
    },
    {
      name: 'set for volumes',
      change: { dataBound: { workload: 'Job default/train' } },
      warning: 'lodestone: propagateDeps set: Job default/train has annotation lodestone.dev/volumes',
      decision: 'Propagated',
      reason: 'Job default/train has annotation lodestone.dev/volumes',
    },
    {
      name: 'set for every policy',
      change: { mode: 'always' },
      warning: 'lodestone: propagateDeps set: configured for every policy',
      decision: 'Propagated',
      reason: 'configured for every policy',
    },
    {
      name: 'declined by this write',
      change: { policy: policy(off) },
      warning: `lodestone: propagateDeps: false is kept as ${annotation}`,
      decision: 'Declined',
      reason: `propagateDeps: false is kept as ${annotation}`,
    },
    {
      name: 'declined earlier, without a warning',
      change: { policy: policy({}, { annotations: NO }) },
      decision: 'Declined',
      reason: annotation,
    },
    {
      name: 'declined in the manifest, without a warning',
      change: { policy: policy({}, { annotations: APPLIED_FALSE }) },
      decision: 'Declined',
      reason: 'its manifest says propagateDeps: false',
    },
    {
      name: 'no longer declined',
      change: { policy: policy(on, { annotations: NO }), stored: policy({}, { annotations: NO }) },
      warning: `lodestone: ${annotation} is removed`,
      decision: 'Accepted',
      reason: `${annotation} is removed`,
    },
  ])('contains the change and the reason, also for the audit log: $name', ({ change, warning, decision, reason }) => {
    const given = input(change)
    const decided = decidePolicy(given)

    expect(answerPolicy(decided, given)).toEqual({
      ...(warning ? { kind: 'patch', object: decided.policy, warnings: [warning] } : { kind: 'allow' }),
      auditAnnotations: { decision, reason },
    })
  })

  test('for a policy that is too large to compare has the remedy', () => {
    const given = input({ dataBound: undefined, isTooLarge: true })

    expect(answerPolicy(decidePolicy(given), given)).toEqual({
      kind: 'allow',
      warnings: [
        'lodestone: too many selectors and claims to compare; set propagateDeps yourself, or divide the policy',
      ],
    })
  })

  test.each(cases)('has one warning of at most 120 characters for each change: $name', ({ change }) => {
    const long = 'x'.repeat(200)
    const given = input({
      ...change,
      ...(change.dataBound || !('dataBound' in change) ? { dataBound: { workload: long } } : {}),
    })
    const outcome = answerPolicy(decidePolicy(given), given)

    expect(outcome.warnings?.length ?? 0).toBe(outcome.kind === 'patch' && outcome.auditAnnotations ? 1 : 0)
    expect(outcome.warnings?.every((warning) => warning.length <= 120) ?? true).toBe(true)
  })

  test('for a policy without a data-bound workload has no warning', () => {
    const given = input({ dataBound: undefined })

    expect(answerPolicy(decidePolicy(given), given)).toEqual({ kind: 'allow' })
  })
})

const malformed = (spec: object) => ({ ...makePolicy(), spec: { ...makePolicy().spec, ...spec } }) as PropagationPolicy

test.each<{ name: string; policy: PropagationPolicy; want: string[] }>([
  { name: 'a policy', policy: makePolicy(), want: [] },
  { name: 'fields that are not read', policy: malformed({ unknownField: 1 }), want: [] },
  {
    name: 'selectors that are not a list',
    policy: malformed({ resourceSelectors: 'app' }),
    want: ['spec.resourceSelectors'],
  },
  {
    name: 'propagateDeps that is not a boolean',
    policy: malformed({ propagateDeps: 'yes' }),
    want: ['spec.propagateDeps'],
  },
])('$name: $want', ({ policy, want }) => {
  expect(validatePolicy(policy).map(({ path }) => path)).toEqual(want.map((path) => expect.stringContaining(path)))
})
