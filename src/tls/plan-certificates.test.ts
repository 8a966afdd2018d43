import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type CertificatePlan,
  changesCertificates,
  type ObservedCertificates,
  planCertificates,
} from './plan-certificates.ts'
import { trustedAuthorities, type Validity } from './renew.ts'

const CA_LIFE = 3650
const LEAF_LIFE = 900
const WAIT = 20
const times = { checkIntervalMs: 10, waitMs: WAIT, published: undefined, isRenewalRequested: false }
const young: Validity = { notBefore: 0, notAfter: CA_LIFE }
const leaf = { notBefore: 0, notAfter: LEAF_LIFE, uncoveredHosts: [], signedByCa: true }
const observed: ObservedCertificates = { signing: young, retired: [], leaf }

describe('the plan', () => {
  const due = { notBefore: -3000, notAfter: 650 }
  const expired = { notBefore: -3000, notAfter: 5 }
  const next = { ...young, knownSince: 0 }
  test.each<{
    name: string
    observed?: ObservedCertificates
    now?: number
    more?: object
    want: Partial<CertificatePlan>
  }>([
    {
      name: 'nothing to do: the next check follows after the interval',
      observed,
      want: { authority: { kind: 'keep' }, nextCheckAt: 20 },
    },
    {
      name: 'without stored certificates, all are created',
      want: { authority: { kind: 'replace', reason: 'missing' }, leaf: 'missing' },
    },
    {
      name: 'for a CA that is due, the next CA is published and the leaf stays',
      observed: { ...observed, signing: due },
      want: { authority: { kind: 'publish-next', reason: 'two-thirds-of-life' }, leaf: undefined },
    },
    {
      name: 'the next CA waits for the callers, and the next check is at the end of the wait',
      observed: { ...observed, signing: due, next: { ...next, knownSince: -5 } },
      want: { authority: { kind: 'keep' }, leaf: undefined, nextCheckAt: 15 },
    },
    {
      name: 'after the wait, the next CA signs a new leaf',
      observed: { ...observed, signing: due, next },
      now: 20,
      want: { authority: { kind: 'promote-next', reason: 'two-thirds-of-life' }, leaf: 'not-signed-by-ca' },
    },
    {
      name: 'the next CA does not sign while callers are known not to have it',
      observed: { ...observed, signing: due, next },
      now: 600,
      more: { published: false },
      want: { authority: { kind: 'keep' } },
    },
    {
      name: 'an expired CA is replaced by the next one without a wait',
      observed: { ...observed, signing: expired, next },
      more: { published: false },
      want: { authority: { kind: 'promote-next', reason: 'expired' }, leaf: 'not-signed-by-ca' },
    },
    {
      name: 'an expired CA without a next one is replaced',
      observed: { ...observed, signing: expired },
      want: { authority: { kind: 'replace', reason: 'expired' }, leaf: 'not-signed-by-ca' },
    },
    {
      name: 'a CA that is not valid yet is replaced with an overlap, since our own clock may be wrong',
      observed: { ...observed, signing: { notBefore: 500, notAfter: 5000 } },
      want: { authority: { kind: 'publish-next', reason: 'not-yet-valid' } },
    },
    {
      name: 'a next CA that has expired before it signed is removed',
      observed: { ...observed, next: { ...expired, knownSince: -500 } },
      want: { authority: { kind: 'drop-next' }, leaf: undefined },
    },
    {
      name: 'a new CA is published if the user requests it',
      observed,
      more: { isRenewalRequested: true },
      want: { authority: { kind: 'publish-next', reason: 'requested' } },
    },
    {
      name: 'during the overlap, the old CA still signs the leaf',
      observed: { ...observed, signing: due, next, leaf: { ...leaf, uncoveredHosts: ['a.b'] } },
      want: { authority: { kind: 'keep' }, leaf: 'hosts-not-covered' },
    },
    {
      name: 'expired CAs are removed from the bundle',
      observed: { ...observed, retired: [young, expired] },
      want: { pruneRetired: true },
    },
  ])('$name', ({ observed, now = 10, more, want }) => {
    expect(planCertificates({ observed, now, ...times, ...more })).toMatchObject(want)
  })
})

interface Ca extends Validity {
  id: number
}
interface State {
  signing: Ca
  next?: Ca & { knownSince: number }
  retired: Ca[]
  leaf: Validity & { issuer: number }
}

test('at any check, callers with an older bundle accept the leaf, and a plan is stable', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 120 }), (gaps) => {
      let ids = 0
      let now = 0
      let state = carryOut(planCertificates({ observed: undefined, now, ...times }), undefined)
      const published: { at: number; ids: number[] }[] = [{ at: 0, ids: bundleOf(state) }]
      for (const gap of gaps) {
        now += gap
        // Lifetimes of years and gaps of days: nothing expires between two checks.
        const plan = planCertificates({ observed: observedOf(state), now, ...times })
        state = carryOut(plan, state)
        const heard = published.filter(({ at }) => at <= now - WAIT).at(-1) ?? published[0]
        published.push({ at: now, ids: bundleOf(state) })
        expect(heard?.ids).toContain(state.leaf.issuer)
        expect(state.leaf.notAfter).toBeGreaterThan(now)
        expect(changesCertificates(planCertificates({ observed: observedOf(state), now, ...times }))).toBe(false)
      }

      function makeCa(): Ca {
        return { id: ++ids, notBefore: now, notAfter: now + CA_LIFE }
      }
      function carryOut(plan: CertificatePlan, before: State | undefined): State {
        const after = stepAuthority(plan, before)
        const retired = trustedAuthorities(after.retired, now)
        const made = {
          issuer: after.signing.id,
          notBefore: now,
          notAfter: Math.min(now + LEAF_LIFE, after.signing.notAfter),
        }
        return { ...after, retired, leaf: plan.leaf === undefined && before ? before.leaf : made }
      }
      function stepAuthority({ authority }: CertificatePlan, before: State | undefined): Omit<State, 'leaf'> {
        if (before === undefined) return { signing: makeCa(), retired: [] }
        const { signing, next, retired } = before
        if (authority.kind === 'publish-next') return { signing, next: { ...makeCa(), knownSince: now }, retired }
        if (authority.kind === 'promote-next' && next) return { signing: next, retired: [signing, ...retired] }
        if (authority.kind === 'replace') return { signing: makeCa(), retired: [signing, ...retired] }
        return before
      }
    }),
  )

  function observedOf(state: State): ObservedCertificates {
    return { ...state, leaf: { ...state.leaf, uncoveredHosts: [], signedByCa: state.leaf.issuer === state.signing.id } }
  }
  function bundleOf(state: State): number[] {
    return [...(state.next ? [state.next] : []), state.signing, ...state.retired].map(({ id }) => id)
  }
})
