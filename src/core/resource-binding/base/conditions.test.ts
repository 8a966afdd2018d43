import { describe, expect, test } from 'vitest'
import { lookup, makeInput } from '../../../../test/builders.ts'
import { known, labeled, one, overwritten, stored, three } from '../../../../test/recorded-base.ts'
import type { PlacementAffinity } from '../../../api/karmada.ts'
import { parseInput } from '../parse-input.ts'
import type { PlacementDecision } from '../placement-decision.ts'
import { type BaseCondition, isWithin, meetsCondition } from './conditions.ts'

describe('a possible base', () => {
  const before = stored()
  const runs = { ...before, spec: { ...before.spec, clusters: [{ name: 'member2' }] } }

  function decides(affinity: PlacementAffinity, base?: PlacementAffinity): PlacementDecision {
    return { state: 'Narrowed', affinity, annotations: base ? { base } : {}, message: '' }
  }

  test.each<{ condition: BaseCondition; name: string; decision: PlacementDecision; want: boolean }>([
    { condition: 'answered', name: 'gives the write', decision: decides(one('member2'), three), want: true },
    { condition: 'answered', name: 'gives another', decision: decides(one('member1'), three), want: false },
    { condition: 'answered', name: 'records no base', decision: decides(one('member2')), want: false },
    { condition: 'answeredOrByLoop', name: 'gives the write', decision: decides(one('member2'), three), want: true },
    { condition: 'answeredOrByLoop', name: 'gives another', decision: decides(one('member1'), three), want: false },
    { condition: 'withinPolicy', name: 'stays within it', decision: decides(one('member1')), want: true },
    { condition: 'withinPolicy', name: 'leaves it', decision: decides(one('member3')), want: false },
    { condition: 'keepsClusters', name: 'allows where it runs', decision: decides(three), want: true },
    { condition: 'keepsClusters', name: 'excludes where it runs', decision: decides(one('member1')), want: false },
  ])('whose decision $name meets the condition $condition: $want', ({ condition, decision, want }) => {
    const input = { binding: runs, stored: runs, policy: known(one('member1', 'member2')) }
    const parsed = parseInput(makeInput({ ...input, clusters: lookup('member1', 'member2', 'member3') }))
    expect(meetsCondition(parsed, { base: three, condition }, decision)).toBe(want)
  })
})

test.each([
  { name: 'some of its clusters', outer: three, result: one('member1'), want: true },
  { name: 'a cluster that does not exist yet', outer: labeled('member1'), result: one('member9'), want: false },
  { name: 'its own selector', outer: labeled('member1'), result: labeled('member1'), want: true },
  { name: 'a selector that matches nothing today', outer: one('member1'), result: labeled(), want: false },
])('an affinity with $name is within the outer one: $want', ({ outer, result, want }) => {
  const input = makeInput({ binding: overwritten(stored(), outer), clusters: lookup('member1', 'member2', 'member3') })
  expect(isWithin(parseInput(input), outer, result)).toBe(want)
})
