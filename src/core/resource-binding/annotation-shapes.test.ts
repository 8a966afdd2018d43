import { describe, expect, test } from 'vitest'
import { isGroups, isHold, isLocality, isTerm, isTolerant } from './annotation-shapes.ts'

const selector = { matchLabels: { a: 'b' }, matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] }
const hold = { since: '2026-01-02T03:04:05Z', reason: 'Unresolved', message: 'm' }
const locality = { claims: ['default/sales'], message: 'm' }

describe('a ClusterAffinity', () => {
  test.each<{ value: unknown; want: boolean }>([
    { value: {}, want: true },
    { value: { clusterNames: ['a'], exclude: [], labelSelector: selector, fieldSelector: selector }, want: true },
    { value: { unknownField: 1 }, want: true },
    { value: { clusterNames: 'a' }, want: false },
    { value: { clusterNames: [1] }, want: false },
    { value: { exclude: [null] }, want: false },
    { value: { labelSelector: { matchLabels: { a: 1 } } }, want: false },
    { value: { labelSelector: { matchLabels: { a: 'b', c: 1 } } }, want: false },
    { value: { labelSelector: { matchLabels: ['a'] } }, want: false },
    { value: { fieldSelector: { matchExpressions: [{ key: 'a' }] } }, want: false },
    { value: { fieldSelector: { matchExpressions: [{ key: 'a', operator: 'In', values: 'b' }] } }, want: false },
    { value: null, want: false },
    { value: [], want: false },
  ])('$value: $want', ({ value, want }) => {
    expect(isTerm(value)).toBe(want)
  })
})

describe('a placement whose tolerations are read', () => {
  test.each<{ value: unknown; want: boolean }>([
    { value: {}, want: true },
    { value: { clusterTolerations: [{}], clusterAffinity: 1 }, want: true },
    { value: { clusterTolerations: [{ key: 'a', operator: 'Exists', tolerationSeconds: 1 }] }, want: true },
    { value: { clusterTolerations: [{ key: 1 }] }, want: false },
    { value: { clusterTolerations: [{ effect: null }] }, want: false },
    { value: { clusterTolerations: [{ tolerationSeconds: '1' }] }, want: false },
    { value: { clusterTolerations: [null] }, want: false },
    { value: { clusterTolerations: {} }, want: false },
    { value: null, want: false },
  ])('$value: $want', ({ value, want }) => {
    expect(isTolerant(value)).toBe(want)
  })
})

describe('a list of ClusterAffinityTerms', () => {
  test.each<{ value: unknown; want: boolean }>([
    { value: [{ affinityName: 'a', clusterNames: ['x'] }], want: true },
    { value: [{ affinityName: 'a', overflowAffinities: [{ affinityName: 'o' }] }], want: true },
    { value: [], want: false },
    { value: [{}], want: false },
    { value: [{ affinityName: 'a', overflowAffinities: [{}] }], want: false },
    { value: [{ affinityName: 'a' }, { affinityName: 1 }], want: false },
    { value: { affinityName: 'a' }, want: false },
  ])('$value: $want', ({ value, want }) => {
    expect(isGroups(value)).toBe(want)
  })
})

describe('a locality annotation', () => {
  test.each<{ value: unknown; want: boolean }>([
    { value: locality, want: true },
    { value: { ...locality, required: ['a'], requiredDigest: 'f'.repeat(16), preferred: [['a'], []] }, want: true },
    { value: { message: 'm' }, want: false },
    { value: { claims: [] }, want: false },
    { value: { ...locality, required: [1] }, want: false },
    { value: { ...locality, requiredDigest: 1 }, want: false },
    { value: { ...locality, requiredDigest: 'the finance cluster' }, want: false },
    { value: { ...locality, preferred: ['a'] }, want: false },
    { value: { ...locality, rankedFrom: '0123456789abcdef' }, want: true },
    { value: { ...locality, rankedFrom: 'f' }, want: false },
    { value: { ...locality, rankedFrom: 1 }, want: false },
    { value: { ...locality, since: '+275760-09-13T00:00:00.000Z' }, want: false },
    { value: { ...locality, returned: { at: '2026-01-02T03:04:05Z', times: 3 } }, want: true },
    { value: { ...locality, returned: { at: '2026-01-02T03:04:05Z', times: 0.5 } }, want: false },
    { value: { ...locality, returned: { at: '2026-01-02T03:04:05Z' } }, want: false },
    { value: { ...locality, returned: { at: 'yesterday', times: 3 } }, want: false },
    { value: { ...locality, returned: null }, want: false },
    { value: 'text', want: false },
  ])('$value: $want', ({ value, want }) => {
    expect(isLocality(value)).toBe(want)
  })
})

describe('a hold annotation', () => {
  test.each<{ value: unknown; want: boolean }>([
    { value: hold, want: true },
    { value: { ...hold, since: 'yesterday' }, want: false },
    { value: { ...hold, since: 5 }, want: false },
    { value: { ...hold, reason: undefined }, want: false },
    { value: { ...hold, message: undefined }, want: false },
    { value: undefined, want: false },
  ])('$value: $want', ({ value, want }) => {
    expect(isHold(value)).toBe(want)
  })
})
