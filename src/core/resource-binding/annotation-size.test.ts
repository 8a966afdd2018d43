import { describe, expect, test } from 'vitest'
import { located, makeBinding, makeInput, makePolicyInput, unknown } from '../../../test/builders.ts'
import type { Placement, ResourceBinding } from '../../api/karmada.ts'
import { affinityOf } from '../placement/affinity.ts'
import { MAX_ANNOTATIONS_BYTES, readAnnotations } from './annotations.ts'
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

  test('without a policy, a large base is kept: the workload is on hold, and the message has the remedy', () => {
    const { state, binding, message } = decide({
      binding: makeBinding({ placement: grouped(300, 120) }),
      claims: [located(fleet(120))],
    })

    expect(state).toBe('OnHold')
    expect(binding.spec.suspension).toEqual({ scheduling: true })
    expect(message).toContain('use fewer or shorter cluster affinities')
  })

  test('if other writers filled the annotations, nothing changes and a message reports it', () => {
    const { state, binding, message } = decide({
      binding: makeBinding({}, { annotations: { note: 'x'.repeat(MAX_ANNOTATIONS_BYTES - 100) } }),
    })

    expect(state).toBe('Ignored')
    expect(binding.spec.placement).toEqual(makeBinding({}).spec.placement)
    expect(message).toContain('no room')
  })

  test('with many long names in another alphabet', () => {
    const { state } = decide({
      binding: makeBinding({}, { annotations: { note: '界'.repeat(60_000) } }),
    })

    expect(state).toBe('Narrowed')
  })
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

  test('is a digest in the annotation', () => {
    const { locality } = readAnnotations(narrowed.metadata.annotations)
    expect(locality?.required).toBeUndefined()
    expect(locality?.requiredDigest).toMatch(/^[0-9a-f]{16}$/)
  })

  test('is applied again while the location is unknown: the workload stays', () => {
    const { state, binding } = later({ claims: [unknown()] })
    expect(state).toBe('Kept')
    expect(affinityOf(binding.spec.placement)).toEqual(affinityOf(running.spec.placement))
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
