import { describe, expect, test } from 'vitest'
import { describeExempt, type ExemptInput, exemptNamespaces } from './exempt-namespaces.ts'

const exempt = (claims: Record<string, number>, given: Partial<ExemptInput> = {}) =>
  exemptNamespaces({ claims: new Map(Object.entries(claims)), exempt: [], isEnforced: () => false, ...given })

describe('a namespace', () => {
  test.each<{ name: string; claims: Record<string, number>; given?: Partial<ExemptInput>; expected: string[] }>([
    { name: 'with up to 500 claims is not exempt', claims: { a: 1, b: 500 }, expected: [] },
    { name: 'with more claims is exempt', claims: { b: 501, c: 10_000, a: 3 }, expected: ['b', 'c'] },
    { name: 'stays exempt until it has fewer than 400', claims: { a: 400 }, given: { exempt: ['a'] }, expected: ['a'] },
    { name: 'is not exempt any more after that', claims: { a: 399 }, given: { exempt: ['a'] }, expected: [] },
    { name: 'without a claim is not exempt any more', claims: {}, given: { exempt: ['a'] }, expected: [] },
    {
      name: 'that demands the policy by its label is never exempt',
      claims: { a: 10_000, b: 501, c: 450 },
      given: { isEnforced: (name) => name !== 'b', exempt: ['a', 'c'] },
      expected: ['b'],
    },
    {
      name: 'with few claims is not exempt because another one has many',
      claims: { victim: 500, ...Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`attacker-${i}`, 501])) },
      expected: Array.from({ length: 200 }, (_, i) => `attacker-${i}`)
        .sort()
        .slice(0, 100),
    },
  ])('$name', ({ claims, given, expected }) => {
    expect(exempt(claims, given)).toEqual(expected)
  })
})

test('of too many namespaces, those with the most claims are exempt', () => {
  const claims = Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`n${i}`, 501 + i]))
  const largest = Array.from({ length: 100 }, (_, i) => `n${50 + i}`)
  expect(exempt(claims)).toEqual(largest.sort())
})

test('a message names the namespaces and the label', () => {
  expect(describeExempt(['a', 'b'])).toBe(
    'new workloads with a claim do not wait for Lodestone in a, b: more than 500 claims; to let them wait, label the namespace lodestone.dev/enforce=claims',
  )
})
