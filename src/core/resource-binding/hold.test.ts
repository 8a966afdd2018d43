import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { makeBinding, makeInput, NOW, unknown } from '../../../test/builders.ts'
import type { ResourceBinding } from '../../api/karmada.ts'
import { HOLD_ANNOTATION } from '../../api/lodestone.ts'
import { readAnnotations } from './annotations.ts'
import { type BindingDecision, decideBinding } from './decide.ts'
import { scheduledOnHold } from './hold.ts'
import { planBinding } from './plan.ts'

const MINUTE = 60_000
const claims = [unknown({ holdTimeoutSeconds: 60 })]
const at = (ms: number) => new Date(NOW + ms).toISOString()

/** A new binding with this hold annotation in the request, not suspended. */
function sent(hold: unknown): ResourceBinding {
  return makeBinding({}, { annotations: { [HOLD_ANNOTATION]: JSON.stringify(hold) } })
}

/** The binding with a hold that began `ms` ago. */
function heldFor(ms: number): ResourceBinding {
  return decideBinding(makeInput({ binding: makeBinding(), claims, now: NOW - ms })).binding
}

/** The state, and the fields of the hold that decide about its end. */
function summary({ state, binding }: BindingDecision) {
  const { since, released } = readAnnotations(binding.metadata.annotations).hold ?? {}
  return { state, since, released, suspended: binding.spec.suspension?.scheduling }
}

const begins = { state: 'OnHold', since: at(0), released: undefined, suspended: true }
const crafted = [
  { name: 'is released', hold: { since: at(0), reason: 'Unresolved', released: true } },
  { name: 'was released long ago', hold: { since: at(-90 * MINUTE), reason: 'x', released: true } },
  { name: 'is in the far past', hold: { since: '1970-01-01T00:00:00Z', reason: 'Unresolved' } },
  { name: 'is in the far future', hold: { since: '9999-12-31T00:00:00Z', reason: 'Unresolved' } },
  { name: 'is not a date', hold: { since: 'yesterday', reason: 'Unresolved', released: true } },
]

describe('a hold annotation in the request does not count if none is stored', () => {
  test.each(crafted)('at a creation, if the annotation $name', ({ hold }) => {
    expect(summary(decideBinding(makeInput({ binding: sent(hold), claims })))).toEqual(begins)
  })

  test.each(crafted)('at an update, if the annotation $name', ({ hold }) => {
    expect(summary(decideBinding(makeInput({ binding: sent(hold), stored: makeBinding(), claims })))).toEqual(begins)
  })

  test('except for the annotation of the first round of the same request', () => {
    const first = decideBinding(makeInput({ claims })).binding
    const again = decideBinding(makeInput({ binding: first, claims, now: NOW + 20 }))

    expect(again.binding).toBe(first)
  })
})

test.each([
  { name: 'now', ms: 0, since: at(0) },
  { name: 'just within the time of one request', ms: -29_999, since: at(-29_999) },
  { name: 'before this request', ms: -30_000, since: at(0) },
  { name: 'in the future', ms: 1, since: at(0) },
])('a hold that is not stored and began $name in the request begins at $since', ({ ms, since }) => {
  const binding = sent({ since: at(ms), reason: 'Unresolved', message: 'm' })
  expect(summary(decideBinding(makeInput({ binding, claims }))).since).toBe(since)
})

describe('if a hold is stored, its annotation counts and that of the request does not', () => {
  test.each(crafted)('if the annotation in the request $name', ({ hold }) => {
    const stored = heldFor(10_000)
    const decision = decideBinding(makeInput({ binding: sent(hold), stored, claims }))

    expect(summary(decision)).toEqual({ state: 'OnHold', since: at(-10_000), released: undefined, suspended: true })
    expect(decision.binding.metadata.annotations?.[HOLD_ANNOTATION]).toBe(
      stored.metadata.annotations?.[HOLD_ANNOTATION],
    )
  })

  test('at its end, for any annotation in the request', () => {
    const decision = decideBinding(makeInput({ binding: sent({}), stored: heldFor(MINUTE), claims }))

    expect(summary(decision)).toEqual({ state: 'Released', since: at(-MINUTE), released: true, suspended: undefined })
  })

  test.each([3 * 60 * MINUTE, 365 * 24 * 60 * MINUTE])('but not by a jump of the clock by %i ms', (byMs) => {
    const stored = heldFor(MINUTE / 2)
    const jumps = [{ to: NOW + byMs, byMs }]
    const later = (ms: number) => makeInput({ binding: stored, stored, claims, jumps, now: NOW + byMs + ms })

    expect(decideBinding(later(MINUTE / 2 - 1)).state).toBe('OnHold')
    expect(planBinding(later(0)).requeueAfterMs).toBe(MINUTE / 2)
    expect(decideBinding(later(MINUTE / 2)).state).toBe('Released')
  })

  test('but a start in the future counts as now, since the hold would never end', () => {
    const stored = heldFor(-90 * MINUTE)

    expect(summary(decideBinding(makeInput({ binding: stored, stored, claims })))).toEqual(begins)
  })
})

describe('Karmada writes clusters', () => {
  const held = heldFor(10_000)
  const scheduled = (binding: ResourceBinding): ResourceBinding => ({
    ...binding,
    spec: { ...binding.spec, clusters: [{ name: 'c1' }] },
  })
  const released = decideBinding(makeInput({ binding: heldFor(MINUTE), stored: heldFor(MINUTE), claims })).binding

  test('on a binding that is on hold: the write is rejected with the reason', () => {
    expect(scheduledOnHold({ binding: scheduled(held), stored: held })).toEqual([
      {
        path: 'spec.clusters',
        code: 'Forbidden',
        message:
          'cannot be set while Lodestone has the workload on hold (Unresolved: default/sales: no DataSource yet); it is scheduled when the hold ends',
      },
    ])
  })

  test.each([
    { name: 'on a binding without a hold', binding: scheduled(makeBinding()), stored: makeBinding() },
    { name: 'on a binding whose hold was released', binding: scheduled(released), stored: released },
    { name: 'on a binding that another writer suspended', binding: scheduled(suspended()), stored: suspended() },
    { name: 'and removes the hold in the same write', binding: scheduled(makeBinding()), stored: held },
    { name: 'on a binding that has clusters already', binding: scheduled(held), stored: scheduled(held) },
    { name: 'on a new binding', binding: scheduled(held), stored: undefined },
    { name: 'not at all', binding: held, stored: held },
  ])('$name: the write is allowed', ({ binding, stored }) => {
    expect(scheduledOnHold({ binding, stored })).toEqual([])
  })

  function suspended(): ResourceBinding {
    return makeBinding({ suspension: { scheduling: true } })
  }
})

describe('the release by the loop', () => {
  test('is accepted by admission', () => {
    const stored = heldFor(MINUTE)
    const written = decideBinding(makeInput({ binding: stored, stored, claims })).binding

    expect(summary(decideBinding(makeInput({ binding: written, stored, claims })))).toMatchObject({
      state: 'Released',
      released: true,
    })
  })

  test('is written again until it is stored: admission may have an older cache or clock', () => {
    const held = heldFor(MINUTE)
    const released = decideBinding(makeInput({ binding: held, stored: held, claims })).binding
    const plan = (binding: ResourceBinding) => planBinding(makeInput({ binding, stored: binding, claims }))

    expect(plan(held).requeueAfterMs).toBe(5000)
    expect(plan(released)).toEqual({ actions: [], moves: false })
  })
})

test('no annotation in a request releases a hold of one minute that is not stored', async () => {
  const note = fc.record(
    {
      since: fc.oneof(fc.date({ noInvalidDate: true }).map(String), fc.string(), fc.integer()),
      reason: fc.string(),
      released: fc.anything(),
    },
    { requiredKeys: [] },
  )
  await fc.assert(
    fc.property(note, (hold) => {
      const once = decideBinding(makeInput({ binding: sent(hold), claims }))
      expect(once.state).toBe('OnHold')
      expect(decideBinding(makeInput({ binding: once.binding, claims })).binding).toBe(once.binding)
    }),
  )
})
