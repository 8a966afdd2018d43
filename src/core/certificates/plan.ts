/**
 * Plans what happens to the stored certificates: which CA is made, which one signs, and whether the leaf is signed anew.
 *
 *     CA due          wait is over           old CA expires
 *        │                 │                       │
 *   old ━┿━━━━━ signs ━━━━━┿┄┄┄┄┄┄ trusted ┄┄┄┄┄┄┄┄┤
 *   new  ├┄┄┄┄ trusted ┄┄┄┄┿━━━━━━━━━━━━━━ signs ━━┿━━━━━
 *        │                 │                       │
 *   publish-next      promote-next           pruneRetired
 */
import {
  mayStartToSign,
  nextCheckAt,
  type RenewalReason,
  reasonOfAge,
  reasonToRenewLeaf,
  renewalDueAt,
  trustedAuthorities,
  type Validity,
} from './renew.ts'

/** The stored certificates, as far as a decision needs them. */
export interface ObservedCertificates {
  /** The CA that signs. */
  signing: Validity
  /** The CA that is published and will sign next, and since when (ms since 1970) this process has known it. */
  next?: Validity & { knownSince: number }
  /** CAs that signed once and are still trusted. */
  retired: readonly Validity[]
  leaf: Validity & { uncoveredHosts: readonly string[]; signedByCa: boolean }
}

export interface CertificatePlanInput {
  /** Undefined when nothing is stored. */
  observed: ObservedCertificates | undefined
  /** Milliseconds since 1970. */
  now: number
  checkIntervalMs: number
  /** How long a new CA stays in the bundle before it signs. */
  waitMs: number
  /** Whether callers hold the stored bundle, undefined when unknown. */
  published: boolean | undefined
  /** Whether the user asked for a new CA before it is due. */
  renewalAskedFor: boolean
}

type AuthorityStep =
  | { kind: 'keep' }
  /** Make a CA and put it in the bundle; the present one goes on signing. */
  | { kind: 'publish-next'; reason: RenewalReason }
  /** The published CA takes over. */
  | { kind: 'promote-next'; reason: RenewalReason }
  /** Take the next CA back: it expired before it ever signed. */
  | { kind: 'drop-next' }
  /** Make a CA that signs at once: there is no CA whose certificates callers would accept. */
  | { kind: 'replace'; reason: RenewalReason }

export interface CertificatePlan {
  authority: AuthorityStep
  /** Why a new leaf is made, undefined to keep the one there is. */
  leaf: RenewalReason | undefined
  /** Whether expired CAs have to leave the bundle. */
  pruneRetired: boolean
  /** When to look again, in ms since 1970. */
  nextCheckAt: number
}

/** Decides what to do with the stored certificates now. A plan that was carried out is followed by one that changes nothing. */
export function planCertificates(input: CertificatePlanInput): CertificatePlan {
  const { observed, now, checkIntervalMs, waitMs } = input
  if (observed === undefined) {
    const authority: AuthorityStep = { kind: 'replace', reason: 'missing' }
    return { authority, leaf: 'missing', pruneRetired: false, nextCheckAt: now + checkIntervalMs }
  }
  const { signing, next, retired, leaf } = observed
  const authority = stepOfAuthority(observed, input)
  const otherCa = authority.kind === 'promote-next' || authority.kind === 'replace'
  const ca = authority.kind === 'promote-next' && next !== undefined ? next : signing
  const moments = [leaf.notAfter, renewalDueAt(leaf), signing.notAfter, renewalDueAt(signing)]
  if (next !== undefined) moments.push(next.knownSince + waitMs)
  return {
    authority,
    leaf: reasonToRenewLeaf({ ...leaf, leaf, ca, signedByCa: leaf.signedByCa && !otherCa, now }),
    pruneRetired: trustedAuthorities(retired, now).length < retired.length,
    nextCheckAt: nextCheckAt(now, checkIntervalMs, moments),
  }
}

/** Whether carrying out a plan would change what is stored. */
export function changesCertificates(plan: CertificatePlan): boolean {
  return plan.authority.kind !== 'keep' || plan.leaf !== undefined || plan.pruneRetired
}

function stepOfAuthority(observed: ObservedCertificates, input: CertificatePlanInput): AuthorityStep {
  const { signing, next } = observed
  const { now, waitMs, published } = input
  const reason = reasonOfAge(signing, now) ?? (input.renewalAskedFor ? 'asked-for' : undefined)
  const nextFails = next === undefined ? undefined : reasonOfAge(next, now)

  // Callers accept no certificate of an expired CA, so there is nothing left to overlap with.
  if (reason === 'expired') {
    return next !== undefined && nextFails !== 'expired'
      ? { kind: 'promote-next', reason }
      : { kind: 'replace', reason }
  }
  // A CA that seems to lie in the future is replaced with overlap too, since our own clock may be wrong. A server with a
  // wrong clock must not take the trusted CA away from the other servers.
  if (next === undefined) return reason === undefined ? { kind: 'keep' } : { kind: 'publish-next', reason }
  if (nextFails !== undefined && reason !== undefined) return { kind: 'publish-next', reason }
  if (nextFails === 'expired') return { kind: 'drop-next' }
  if (nextFails !== 'not-yet-valid' && mayStartToSign({ knownSince: next.knownSince, now, waitMs, published })) {
    return { kind: 'promote-next', reason: reason ?? 'asked-for' }
  }
  return { kind: 'keep' }
}
