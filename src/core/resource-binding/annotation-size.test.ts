import { describe, expect, test } from 'vitest'
import { located, makeBinding, makeInput, makePolicyInput, unknown } from '../../../test/builders.ts'
import type { Placement, PlacementAffinity, ResourceBinding } from '../../api/karmada.ts'
import { BASE_AFFINITY_ANNOTATION, HOLD_ANNOTATION } from '../../api/lodestone.ts'
import { jsonBytes, MAX_ANNOTATIONS_BYTES, MAX_OBJECT_BYTES } from '../admission/object-size.ts'
import { bindingDecisionId } from '../decision-id.ts'
import { effectiveAffinity } from '../placement/affinity.ts'
import { fitAnnotations, shortLocality } from './annotation-size.ts'
import { readAnnotations } from './annotations.ts'
import { decideBinding } from './decide.ts'
import type { BindingInput } from './input.ts'

const fleet = (count: number) =>
  Array.from({ length: count }, (_, i) => `member-in-some-region-${String(i).padStart(4, '0')}`)
const grouped = (groups: number, names: number): Placement => {
  const all = fleet(groups * names)
  return {
    clusterAffinities: Array.from({ length: groups }, (_, i) => ({
      affinityName: `group-${i}`,
      clusterNames: all.slice(i * names, (i + 1) * names),
    })),
  }
}

function annotationBytes({ metadata }: ResourceBinding): number {
  return Object.entries(metadata.annotations ?? {}).reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value),
    0,
  )
}

/** Decides, then asserts that a second decision changes nothing and that the API server accepts the annotations. */
function decide(given: Partial<BindingInput>) {
  const input = makeInput(given)
  const decision = decideBinding(input)
  expect(decideBinding({ ...input, binding: decision.binding }).binding).toBe(decision.binding)
  expect(annotationBytes(decision.binding)).toBeLessThan(MAX_ANNOTATIONS_BYTES)
  return decision
}

describe('the annotations of a binding stay below the limit of the API server', () => {
  test('with data in 3,500 clusters, all allowed by the policy', () => {
    const { state, binding } = decide({ binding: makeBinding({ placement: {} }), claims: [located(fleet(3500))] })

    expect(state).toBe('Narrowed')
    expect(binding.spec.placement?.clusterAffinity?.clusterNames).toHaveLength(3500)
    expect(annotationBytes(binding)).toBeLessThan(2000)
  })

  test('with 300 groups of 120 names each, equal to the policy', () => {
    const placement = grouped(300, 120)
    const policy = makePolicyInput({ placement })
    const { state, binding } = decide({
      binding: makeBinding({ placement }),
      policy,
      claims: [located(fleet(120))],
    })

    expect(state).toBe('Narrowed')
    expect(binding.spec.placement?.clusterAffinities).toHaveLength(1)
    expect(annotationBytes(binding)).toBeLessThan(10_000)
  })

  test('a large base without a policy is kept, and holds the workload with a remedy', () => {
    const { state, binding, message } = decide({
      binding: makeBinding({ placement: grouped(300, 120) }),
      claims: [located(fleet(120))],
    })

    expect(state).toBe('OnHold')
    expect(binding.spec.suspension).toEqual({ scheduling: true })
    expect(message).toContain('use fewer or shorter cluster affinities')
  })

  test('if other writers filled the annotations, a message reports it without a change', () => {
    const { state, binding, message } = decide({
      binding: makeBinding({}, { annotations: { note: 'x'.repeat(MAX_ANNOTATIONS_BYTES - 100) } }),
    })

    expect(state).toBe('Ignored')
    expect(binding.spec.placement).toEqual(makeBinding({}).spec.placement)
    expect(message).toContain('does not fit into the annotations')
  })

  test('if other writers filled the annotations, a binding without claim stays narrowed', () => {
    const narrowed = decide({}).binding
    const annotations = { ...narrowed.metadata.annotations, note: 'x'.repeat(MAX_ANNOTATIONS_BYTES - 1000) }
    const binding = { ...narrowed, metadata: { ...narrowed.metadata, annotations } }

    expect(decide({ binding, stored: binding, claims: [] })).toEqual({
      state: 'Restored',
      binding,
      message: 'no claim is left for this workload',
    })
  })

  test('with many long names in another alphabet', () => {
    const { state } = decide({
      binding: makeBinding({}, { annotations: { note: '界'.repeat(60_000) } }),
    })

    expect(state).toBe('Narrowed')
  })
})

describe('our annotations fit beside those of other writers', () => {
  const RESERVED_BYTES = 16 * 1024
  const placement: Placement = {}
  const applied = 'policy.karmada.io/applied-placement'
  const hold = { message: '', reason: 'Unresolved', since: '2026-01-02T03:04:05.000Z' } as const
  const ours = [HOLD_ANNOTATION, JSON.stringify(hold)]
  const room = MAX_ANNOTATIONS_BYTES - RESERVED_BYTES - ours.join('').length - 'note'.length
  const fits = (annotations: Record<string, string>, given: Placement = placement) =>
    fitAnnotations({ hold }, { annotations, placement: given, policy: undefined }) !== undefined

  test.each([
    { name: 'ASCII', character: 'x', bytes: 1 },
    { name: 'the last ASCII character', character: '\u007F', bytes: 1 },
    { name: 'the first character of two bytes', character: '\u0080', bytes: 2 },
    { name: 'the last character of two bytes', character: '\u07FF', bytes: 2 },
    { name: 'the first character of three bytes', character: '\u0800', bytes: 3 },
  ])('up to the last byte, if the other annotations have $name', ({ character, bytes }) => {
    const growth = JSON.stringify(placement).length
    const note = character.repeat(Math.floor((room - growth) / bytes)) + 'x'.repeat((room - growth) % bytes)
    expect([fits({ note }), fits({ note: `${note}x` })]).toEqual([true, false])
  })

  test('beside the placement that the scheduler will write', () => {
    const wide = { clusterAffinity: { clusterNames: fleet(100) } }
    const text = JSON.stringify(wide)
    const note = 'x'.repeat(room - text.length)
    expect([fits({ note }, wide), fits({ note: `${note}x` }, wide)]).toEqual([true, false])
    // A placement that the scheduler has written already occupies its space.
    const after = { note: note.slice(applied.length), [applied]: text }
    expect([fits(after, wide), fits({ ...after, note: `${after.note}x` }, wide)]).toEqual([true, false])
    expect([fits(after, placement), fits({ ...after, note: `${after.note}x` }, placement)]).toEqual([true, false])
  })

  test('in place of our stored annotations', () => {
    expect(fits({ [BASE_AFFINITY_ANNOTATION]: 'x'.repeat(MAX_ANNOTATIONS_BYTES) })).toBe(true)
  })
})

describe('a base', () => {
  const sized = (length: number) => {
    const frame = JSON.stringify({ clusterAffinity: { clusterNames: [''] } }).length
    return { clusterAffinity: { clusterNames: ['x'.repeat(length - frame)] } }
  }
  const textFor = (base: PlacementAffinity, policy?: PlacementAffinity) =>
    fitAnnotations({ base }, { annotations: {}, placement: {}, policy })?.['lodestone.dev/base-affinity']
  const [largest, tooLarge] = [sized(32 * 1024), sized(32 * 1024 + 1)]

  test.each([
    {
      name: 'with its members in another order stays',
      text: '{"clusterAffinity":{"exclude":["c"],"clusterNames":["a"]}}',
    },
    { name: 'of a reference to the policy is replaced', text: '"policy"', isReplaced: true },
    { name: 'that is too long is replaced', text: `{"clusterAffinity":{}${' '.repeat(32 * 1024)}}`, isReplaced: true },
  ])('text $name', ({ text, isReplaced }) => {
    const base = { clusterAffinity: { clusterNames: ['a'], exclude: ['c'] } }
    const annotations = { [BASE_AFFINITY_ANNOTATION]: text }
    const texts = fitAnnotations({ base }, { annotations, sentBase: base, placement: {}, policy: base })
    expect(texts?.[BASE_AFFINITY_ANNOTATION]).toBe(isReplaced ? JSON.stringify(base) : text)
  })

  test.each([
    { name: 'of at most 32 KiB is in the annotation', base: largest, want: JSON.stringify(largest) },
    {
      name: 'of at most 32 KiB is in the annotation even if the policy has it',
      base: largest,
      policy: largest,
      want: JSON.stringify(largest),
    },
    {
      name: 'that is larger refers to the policy if the policy has it',
      base: tooLarge,
      policy: tooLarge,
      want: '"policy"',
    },
    {
      name: 'that is larger does not fit if the policy has another one',
      base: tooLarge,
      policy: largest,
      want: undefined,
    },
    { name: 'that is larger does not fit without a known policy', base: tooLarge, want: undefined },
  ])('$name', ({ base, policy, want }) => {
    expect(textFor(base, policy)).toBe(want)
  })
})

test.each([
  { count: 200, want: { required: fleet(200) } },
  { count: 201, want: { requiredDigest: expect.stringMatching(/^[0-9a-f]{16}$/) } },
])('for $count required clusters, the annotation has $want', ({ count, want }) => {
  const locality = { state: 'Narrowed' as const, message: 'm', claims: ['default/sales'] }
  expect(shortLocality({ ...locality, required: fleet(count) })).toEqual({ ...locality, ...want })
})

test('a base that no annotation can restore is never narrowed', () => {
  const placement = JSON.parse('{"clusterAffinity":{"labelSelector":{"__proto__":{}}}}')
  const { state, binding } = decide({ binding: makeBinding({ placement }), claims: [located(['member1'])] })

  expect(state).toBe('OnHold')
  expect(binding.spec.placement).toBe(placement)
})

describe('a set of required clusters that is too large to list', () => {
  const clusters = fleet(1000)
  const [first = ''] = clusters
  const narrowed = decideBinding(
    makeInput({ binding: makeBinding({ placement: {} }), claims: [located(clusters)] }),
  ).binding
  const running: ResourceBinding = {
    ...narrowed,
    spec: { ...narrowed.spec, clusters: [{ name: first, replicas: 1 }] },
  }
  const later = (given: Partial<BindingInput>) =>
    decide({ binding: running, stored: running, policy: makePolicyInput({ placement: {} }), ...given })

  test('is a digest in the annotation, and in the id of the decision', () => {
    const { binding, decided } = decide({ binding: makeBinding({ placement: {} }), claims: [located(clusters)] })
    expect(bindingDecisionId(binding, decided)).toBe(bindingDecisionId(binding))
    const { locality } = readAnnotations(narrowed.metadata.annotations)
    expect(locality?.required).toBeUndefined()
    expect(locality?.requiredDigest).toMatch(/^[0-9a-f]{16}$/)
  })

  test('is applied again while the location is unknown: the workload stays', () => {
    const { state, binding } = later({ claims: [unknown()] })
    expect(state).toBe('Kept')
    expect(effectiveAffinity(binding.spec.placement)).toEqual(effectiveAffinity(running.spec.placement))
  })

  test('is equal to the last one if the data did not move, and nothing is written', () => {
    expect(later({ claims: [located(clusters)] }).binding).toBe(running)
  })

  test('differs if the data moved: a workload that may not move stays', () => {
    const { state } = later({ claims: [located(clusters.slice(1), { rebalance: 'Never' })] })
    expect(state).toBe('Kept')
  })

  test('differs if the data moved: a workload that may move is narrowed again', () => {
    const { state, binding } = later({ claims: [located(clusters.slice(1))] })
    expect(state).toBe('Narrowed')
    expect(binding.spec.placement?.clusterAffinity?.clusterNames).toHaveLength(999)
  })
})

test.each<{ name: string; placement: Placement }>([
  {
    name: 'groups',
    placement: { clusterAffinities: ['g0', 'g1', 'g2', 'g3'].map((affinityName) => ({ affinityName })) },
  },
  { name: 'one affinity', placement: {} },
])('a hold has the numbers if a narrowing of $name exceeds the limit of etcd', ({ placement }) => {
  const count = placement.clusterAffinities ? 5000 : 20_000
  const clusters = Array.from({ length: count }, (_, i) => `cluster-${i}`.padEnd(48, 'x'))
  const decided = (text: string) =>
    decide({ binding: makeBinding({ placement, components: [{ name: text }] as never }), claims: [located(clusters)] })
  expect(decided('small').state).toBe('Narrowed')

  const { state, message, binding } = decided('x'.repeat(600_000))

  expect(state).toBe('OnHold')
  expect(message).toContain('or the 1572864 bytes of the binding; use fewer')
  expect(binding.spec.placement).toEqual(placement)
  expect(jsonBytes(binding)).toBeLessThan(MAX_OBJECT_BYTES)
})
