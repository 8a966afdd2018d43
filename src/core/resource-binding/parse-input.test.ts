import { describe, expect, test } from 'vitest'
import { located, makeBinding, makeInput, makePolicyInput, unknown } from '../../../test/builders.ts'
import type { BindingSpec } from '../../api/karmada.ts'
import { BASE_AFFINITY_ANNOTATION, LOCALITY_ANNOTATION } from '../../api/lodestone.ts'
import { newestRules } from '../karmada-rules.ts'
import { constraintIn, parseInput } from './parse-input.ts'

const base = { clusterAffinity: { clusterNames: ['m1', 'm2'] } }
const locality = { state: 'Narrowed', message: 'm', claims: ['default/sales'] }
const annotated = (annotations: Record<string, unknown>, spec: Partial<BindingSpec> = {}) =>
  makeBinding(spec, {
    annotations: Object.fromEntries(
      Object.entries(annotations).map(([key, value]) => [
        key,
        typeof value === 'string' ? value : JSON.stringify(value),
      ]),
    ),
  })

describe('claims', () => {
  const a = located(['m1', 'm2'], { claim: 'default/a' })
  const b = located(['m2', 'm3'], { claim: 'default/b' })

  test('are sorted by name, and require the clusters of all', () => {
    const { claims, constraint } = parseInput(makeInput({ claims: [b, a] }))
    expect(claims).toEqual([a, b])
    expect(constraint).toEqual({ required: ['m2'] })
  })

  test('above the limit of 64 become one unknown claim, with the remedy', () => {
    const many = Array.from({ length: 65 }, (_, i) => located(['m1'], { claim: `default/c${i}` }))
    const { claims, constraint } = parseInput(makeInput({ claims: many }))
    expect(claims).toEqual([
      {
        claim: '65 claims',
        enforcement: 'Required',
        onUnresolved: 'Hold',
        onUnsatisfiable: 'Hold',
        rebalance: 'Auto',
        holdTimeoutSeconds: undefined,
        answer: { kind: 'unknown', reason: 'more than 64 claims name this workload; delete some' },
      },
    ])
    expect(constraint).toEqual({})
    expect(parseInput(makeInput({ claims: many.slice(1) })).claims).toHaveLength(64)
  })
})

describe('a binding is scheduled', () => {
  const clusters = [{ name: 'm1' }]
  const evicted = [{ fromCluster: 'm1' }] as BindingSpec['gracefulEvictionTasks']
  test.each([
    { name: 'with clusters', binding: makeBinding({ clusters }), want: true },
    { name: 'with stored clusters', binding: makeBinding(), stored: makeBinding({ clusters }), want: true },
    {
      name: 'with a cluster under eviction',
      binding: makeBinding({ gracefulEvictionTasks: evicted } as never),
      want: true,
    },
    { name: 'not with an empty list', binding: makeBinding({ clusters: [] }), want: false },
    { name: 'not without a list', binding: makeBinding(), want: false },
  ])('$name', ({ binding, stored, want }) => {
    expect(parseInput(makeInput({ binding, stored })).isScheduled).toBe(want)
  })
})

describe('overflow tiers count for a resource', () => {
  test.each<{ name: string; spec: object; want: boolean }>([
    { name: 'with replicas', spec: { replicas: 1 }, want: true },
    { name: 'with requirements of replicas', spec: { replicas: 0, replicaRequirements: {} }, want: true },
    { name: 'with components', spec: { replicas: 0, components: [{ name: 'a' }] }, want: true },
    { name: 'not without any of them', spec: { replicas: 0, components: [] }, want: false },
  ])('$name', ({ spec, want }) => {
    const input = makeInput({ binding: makeBinding(spec), rules: newestRules })
    expect(parseInput(input).usesOverflow).toBe(want)
  })
})

describe('annotations are resolved', () => {
  test('with the base that they contain', () => {
    const binding = annotated({ [BASE_AFFINITY_ANNOTATION]: base })
    expect(parseInput(makeInput({ binding })).annotations.base).toEqual(base)
    expect(parseInput(makeInput({ stored: binding })).storedAnnotations.base).toEqual(base)
  })

  test('to an empty result without annotations', () => {
    expect(parseInput(makeInput()).annotations).toStrictEqual({})
  })

  test('with the clusters of overflow tiers, and without those of a selector', () => {
    const overflowAffinities = [{ affinityName: 'tier', clusterNames: ['m3'] }]
    const clusterAffinities = [
      { affinityName: 'a', clusterNames: ['m1'], overflowAffinities },
      { affinityName: 'b', labelSelector: {} },
    ]
    const digested = { ...locality, requiredDigest: 'f'.repeat(16) }
    const binding = annotated({ [LOCALITY_ANNOTATION]: digested }, { placement: { clusterAffinities } })
    expect(parseInput(makeInput({ binding })).annotations.locality?.required).toEqual(['m1', 'm3'])
  })

  test('with the base of the policy if they refer to it', () => {
    const binding = annotated({ [BASE_AFFINITY_ANNOTATION]: '"policy"' })
    const policy = makePolicyInput({ placement: base })
    expect(parseInput(makeInput({ binding, policy })).annotations.base).toEqual(base)
    expect(parseInput(makeInput({ binding })).annotations.base).toBeUndefined()
  })

  test.each([
    { name: 'the listed required clusters', given: { ...locality, required: ['m7'] }, want: ['m7'] },
    { name: 'the clusters of the affinity if none are listed', given: locality, want: ['m1', 'm2'] },
  ])('with $name, and with a digest only if there is one', ({ given, want }) => {
    const spec = { placement: { clusterAffinity: { clusterNames: ['m2', 'm1', 'm2'] } } }
    const digested = { ...given, requiredDigest: 'f'.repeat(16) }
    expect(
      parseInput(makeInput({ binding: annotated({ [LOCALITY_ANNOTATION]: digested }, spec) })).annotations.locality,
    ).toEqual({
      ...digested,
      required: want,
    })
    const plain = parseInput(makeInput({ binding: annotated({ [LOCALITY_ANNOTATION]: given }, spec) }))
    expect(plain.annotations.locality).toEqual(given)
  })
})

test('the constraint of a locality annotation has only what the annotation has', () => {
  const annotation = { state: 'Kept' as const, message: 'm', claims: [] }
  expect(constraintIn(annotation)).toStrictEqual({})
  const constraint = { required: ['m1'], requiredDigest: 'f'.repeat(16), preferred: [['m2']] }
  expect(constraintIn({ ...annotation, ...constraint })).toEqual(constraint)
})

test('the input itself is in the result', () => {
  const input = makeInput({ claims: [unknown()] })
  expect(parseInput(input)).toMatchObject({ binding: input.binding, now: input.now, claims: input.claims })
})
