import { expect, test } from 'vitest'
import { makeInput } from '../../../../test/builders.ts'
import { known, lazy, one, overwritten, stored, three } from '../../../../test/recorded-base.ts'
import type { ResourceBinding } from '../../../api/karmada.ts'
import { parseInput } from '../parse-input.ts'
import { appliesLazyPolicy, bringsUnknownPlacement, changesOtherFields, isOfDetector } from './writers.ts'

const before = stored()
const applied = overwritten(before, three)

function withVersion(binding: ResourceBinding, resourceVersion: string): ResourceBinding {
  return { ...binding, spec: { ...binding.spec, resource: { ...binding.spec.resource, resourceVersion } } }
}

const forgotten = { ...applied, metadata: { ...applied.metadata, annotations: {} } }

test.each([
  { name: 'brings the affinity of the policy', binding: applied, policy: known(three), want: true },
  { name: 'brings another affinity', binding: applied, policy: known(one('member1')), want: false },
  { name: 'changes our annotations', binding: forgotten, policy: known(three), want: false },
  { name: 'has a policy that is not known', binding: applied, policy: undefined, want: false },
])('a write that $name may be of the detector: $want', ({ binding, policy, want }) => {
  expect(isOfDetector(parseInput(makeInput({ binding, stored: before, policy })))).toBe(want)
})

test.each([
  { name: 'its affinity', binding: applied, policy: lazy(three), want: true },
  { name: 'the workload alone', binding: withVersion(before, '2'), policy: lazy(one('member2')), want: true },
  { name: 'nothing else', binding: before, policy: lazy(one('member2')), want: false },
  { name: 'the affinity of a policy that is not lazy', binding: applied, policy: known(three), want: false },
])('a write with $name applies a lazy policy: $want', ({ binding, policy, want }) => {
  expect(appliesLazyPolicy(parseInput(makeInput({ binding, stored: before, policy })))).toBe(want)
})

test.each([
  { name: 'the workload and the placement', binding: withVersion(applied, '2'), want: true },
  { name: 'the placement alone', binding: applied, want: false },
  { name: 'the workload alone', binding: withVersion(before, '2'), want: false },
])('a write that changes $name brings a placement that may be unknown: $want', ({ binding, want }) => {
  expect(bringsUnknownPlacement(parseInput(makeInput({ binding, stored: before })))).toBe(want)
})

const divided = { ...before, spec: { ...before.spec, placement: { ...before.spec.placement, replicaScheduling: {} } } }

test.each([
  { name: 'the affinity', changed: applied, want: false },
  { name: 'the replica scheduling', changed: divided, want: true },
  { name: 'the labels', changed: { ...before, metadata: { ...before.metadata, labels: { a: 'b' } } }, want: true },
])('a write of $name changes other fields than a loop does: $want', ({ changed, want }) => {
  expect(changesOtherFields(changed, before)).toBe(want)
})
