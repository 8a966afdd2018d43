import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { lookup, makeBinding, makeInput } from '../../../test/builders.ts'
import { BASE_AFFINITY_ANNOTATION, HOLD_ANNOTATION, LOCALITY_ANNOTATION } from '../../api/lodestone.ts'
import { MAX_ANNOTATIONS_BYTES } from '../admission/object-size.ts'
import {
  type BindingAnnotations,
  hasOurAnnotations,
  isWaiting,
  OUR_ANNOTATIONS,
  readAnnotations,
  writeTexts,
} from './annotations.ts'
import { decideBinding } from './decide.ts'

const names = fc.array(fc.string(), { maxLength: 3 })
const term = fc.record({ clusterNames: names, exclude: names }, { requiredKeys: [] })
const notes: fc.Arbitrary<BindingAnnotations> = fc.record(
  {
    base: fc.oneof(
      fc.constant({}),
      fc.record({ clusterAffinity: term }),
      fc.record({
        clusterAffinities: fc.array(
          term.map((affinity) => ({ ...affinity, affinityName: 'g' })),
          { minLength: 1, maxLength: 2 },
        ),
      }),
    ),
    locality: fc.record(
      {
        state: fc.constantFrom('Narrowed' as const, 'Kept' as const, 'Relaxed' as const),
        required: names,
        preferred: fc.array(names, { maxLength: 2 }),
        claims: names,
        message: fc.string(),
      },
      { requiredKeys: ['state', 'claims', 'message'] },
    ),
    hold: fc.record(
      {
        since: fc.constantFrom('2026-01-02T03:04:05.000Z', '2026-01-02T03:04:05Z'),
        reason: fc.constantFrom('Unresolved' as const, 'Unsatisfiable' as const, 'ClaimMissing' as const),
        message: fc.string(),
        released: fc.constant(true as const),
      },
      { requiredKeys: ['since', 'reason', 'message'] },
    ),
  },
  { requiredKeys: [] },
)
const writeNotes = (annotations: Record<string, string> | undefined, { base, locality, hold }: BindingAnnotations) => {
  const [baseText, localityText, holdText] = [base, locality, hold].map((note) => note && JSON.stringify(note))
  return writeTexts(annotations, {
    [BASE_AFFINITY_ANNOTATION]: baseText,
    [LOCALITY_ANNOTATION]: localityText,
    [HOLD_ANNOTATION]: holdText,
  })
}
const foreign = fc.dictionary(fc.constantFrom('a', 'policy.karmada.io/applied-placement', '__proto__'), fc.string())

describe('our annotations', () => {
  test('are read as they were written, beside the annotations of other writers', () => {
    fc.assert(
      fc.property(foreign, notes, notes, (others, before, after) => {
        const first = writeNotes(others, before)
        const second = writeNotes(first, after)
        expect([readAnnotations(first), readAnnotations(second)]).toEqual([before, after])
        expect(writeNotes(second, after)).toBe(second)
        expect(writeNotes(second, {}) ?? {}).toEqual(others)
      }),
      { numRuns: 300 },
    )
  })

  test('leave no empty annotations after the last one is removed', () => {
    expect(writeNotes(writeNotes(undefined, { base: {} }), {})).toBe(undefined)
  })

  test('are read up to the size that an API server allows', () => {
    const sized = (length: number) => `{"clusterAffinity":{}}${' '.repeat(length - 22)}`
    const read = (length: number) => readAnnotations({ [BASE_AFFINITY_ANNOTATION]: sized(length) })
    expect([read(MAX_ANNOTATIONS_BYTES), read(MAX_ANNOTATIONS_BYTES + 1)]).toEqual([
      { base: { clusterAffinity: {} } },
      {},
    ])
  })

  test('are detected even if they are malformed', () => {
    expect([
      hasOurAnnotations(undefined),
      hasOurAnnotations({ a: 'b' }),
      hasOurAnnotations({ [HOLD_ANNOTATION]: 'x' }),
    ]).toEqual([false, false, true])
  })
})

const preferring = (...preferred: string[][]): BindingAnnotations => ({
  locality: { state: 'Narrowed', message: '', claims: [], preferred },
})

test.each<{ name: string; given: BindingAnnotations; runsIn?: string[]; want: boolean }>([
  { name: 'with the data that it prefers most', given: preferring(['m1', 'm2'], ['m3']), runsIn: ['m2'], want: false },
  { name: 'with other preferred data', given: preferring(['m1'], ['m2']), runsIn: ['m2'], want: true },
  { name: 'without its preferred data', given: preferring(['m1']), runsIn: ['m1', 'm2'], want: true },
  { name: 'that is not scheduled', given: preferring(['m1']), want: false },
  { name: 'without a decision', given: {}, want: false },
  { name: 'on hold', given: { hold: { message: '', reason: 'Unresolved', since: '' } }, want: true },
  { name: 'that is narrowed', given: { locality: { state: 'Narrowed', message: '', claims: [] } }, want: false },
  { name: 'that is kept', given: { locality: { state: 'Kept', message: '', claims: [] } }, want: true },
  { name: 'that is relaxed', given: { locality: { state: 'Relaxed', message: '', claims: [] } }, want: true },
])('a change of a cluster may change a workload $name: $want', ({ given, runsIn, want }) => {
  const clusters = runsIn?.map((name) => ({ name }))
  expect(isWaiting(given, clusters)).toBe(want)
})

describe('a value of another writer counts as absent', () => {
  test.each<{ name: string; key: string; value: string }>([
    { name: 'no JSON', key: BASE_AFFINITY_ANNOTATION, value: '{' },
    { name: 'an empty text', key: BASE_AFFINITY_ANNOTATION, value: '' },
    { name: 'null', key: BASE_AFFINITY_ANNOTATION, value: 'null' },
    {
      name: 'a member that no JSON Patch can set',
      key: BASE_AFFINITY_ANNOTATION,
      value: '{"clusterAffinity":{"__proto__":-1}}',
    },
    {
      name: 'the same member, written with an escape',
      key: BASE_AFFINITY_ANNOTATION,
      value: '{"clusterAffinity":{"labelSelector":{"\\u005f_proto__":-1}}}',
    },
    { name: 'a list', key: BASE_AFFINITY_ANNOTATION, value: '[]' },
    {
      name: 'names that are not a list',
      key: BASE_AFFINITY_ANNOTATION,
      value: '{"clusterAffinity":{"clusterNames":"c1"}}',
    },
    {
      name: 'names that are not texts',
      key: BASE_AFFINITY_ANNOTATION,
      value: '{"clusterAffinity":{"clusterNames":[1]}}',
    },
    {
      name: 'an empty list of groups, which would crash the scheduler',
      key: BASE_AFFINITY_ANNOTATION,
      value: '{"clusterAffinities":[]}',
    },
    { name: 'a group without a name', key: BASE_AFFINITY_ANNOTATION, value: '{"clusterAffinities":[{}]}' },
    {
      name: 'overflow that is not a list',
      key: BASE_AFFINITY_ANNOTATION,
      value: '{"clusterAffinities":[{"affinityName":"a","overflowAffinities":5}]}',
    },
    {
      name: 'a selector that is not an object',
      key: BASE_AFFINITY_ANNOTATION,
      value: '{"clusterAffinity":{"labelSelector":[]}}',
    },
    {
      name: 'labels that are not texts',
      key: BASE_AFFINITY_ANNOTATION,
      value: '{"clusterAffinity":{"labelSelector":{"matchLabels":{"a":1}}}}',
    },
    {
      name: 'expressions that are not a list',
      key: BASE_AFFINITY_ANNOTATION,
      value: '{"clusterAffinity":{"labelSelector":{"matchExpressions":5}}}',
    },
    {
      name: 'values that are not a list',
      key: BASE_AFFINITY_ANNOTATION,
      value: '{"clusterAffinity":{"labelSelector":{"matchExpressions":[{"key":"a","operator":"In","values":5}]}}}',
    },
    {
      name: 'an empty expression',
      key: BASE_AFFINITY_ANNOTATION,
      value: '{"clusterAffinity":{"fieldSelector":{"matchExpressions":[null]}}}',
    },
    { name: 'required clusters that are not a list', key: LOCALITY_ANNOTATION, value: '{"required":"c1"}' },
    { name: 'tiers that are not lists', key: LOCALITY_ANNOTATION, value: '{"preferred":["c1"]}' },
    { name: 'a hold without a start', key: HOLD_ANNOTATION, value: '{"reason":"Unresolved"}' },
    {
      name: 'a hold with an invalid start',
      key: HOLD_ANNOTATION,
      value: '{"reason":"Unresolved","since":"yesterday"}',
    },
  ])('$name', ({ key, value }) => {
    expect(readAnnotations({ [key]: value })).toEqual({})
  })

  test('and never fails an admission, for any value', () => {
    const leaf = fc.constantFrom<unknown>(null, 5, 'c1', true, [], {}, ['c1'], [null])
    const key = fc.constantFrom(
      'clusterAffinity',
      'clusterAffinities',
      'clusterNames',
      'exclude',
      'labelSelector',
      'fieldSelector',
      'matchLabels',
      'matchExpressions',
      'overflowAffinities',
      'affinityName',
      'key',
      'operator',
      'values',
      'required',
      'preferred',
      'since',
      'reason',
      'released',
    )
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 5, withCrossShrink: true },
        leaf,
        fc.dictionary(key, tie('value'), { maxKeys: 3 }),
        fc.array(tie('value'), { maxLength: 2 }),
      ),
    }))
    const text = fc.oneof(
      { weight: 9, arbitrary: value.map((it) => JSON.stringify(it)) },
      { weight: 1, arbitrary: fc.string() },
    )
    const written = fc
      .tuple(text, text, text)
      .map((texts) => Object.fromEntries(OUR_ANNOTATIONS.map((our, i) => [our, texts[i] ?? ''])))
    fc.assert(
      fc.property(written, fc.boolean(), fc.boolean(), (annotations, update, claimed) => {
        const binding = makeBinding({}, { annotations })
        const clusters = lookup('member1', 'member2', 'member3')
        const input = makeInput({
          binding,
          clusters,
          ...(update && { stored: binding }),
          ...(!claimed && { claims: [] }),
        })
        expect(['Narrowed', 'Kept', 'Restored', 'Relaxed', 'Ignored', 'OnHold']).toContain(decideBinding(input).state)
      }),
      { numRuns: 1000 },
    )
  })
})
