/**
 * Plans the changes of the stored certificates: which CA is created, which CA signs, and whether a new leaf is signed.
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

/** The stored certificates, reduced to the inputs of the decision. */
export interface ObservedCertificates {
  /** The CA that signs certificates. */
  signing: Validity
  /** The CA that is published and signs next; `knownSince` is when this process first read it, in ms since 1970. */
  next?: Validity & { knownSince: number }
  /** CAs that signed earlier and are still trusted. */
  retired: readonly Validity[]
  leaf: Validity & { uncoveredHosts: readonly string[]; signedByCa: boolean }
}

export interface CertificatePlanInput {
  /** Undefined if nothing is stored. */
  observed: ObservedCertificates | undefined
  /** Milliseconds since 1970. */
  now: number
  checkIntervalMs: number
  /** How long a new CA is in the bundle before it signs. */
  waitMs: number
  /** Whether callers have the stored bundle; undefined if unknown. */
  published: boolean | undefined
  /** Whether the user requested a new CA before it is due. */
  isRenewalRequested: boolean
}

type AuthorityStep =
  | { kind: 'keep' }
  /** Creates a CA and adds it to the bundle; the present CA continues to sign. */
  | { kind: 'publish-next'; reason: RenewalReason }
  /** The published CA becomes the signing CA. */
  | { kind: 'promote-next'; reason: RenewalReason }
  /** Removes the next CA: it expired before it signed a certificate. */
  | { kind: 'drop-next' }
  /** Creates a CA that signs immediately: callers would accept the certificates of no existing CA. */
  | { kind: 'replace'; reason: RenewalReason }

export interface CertificatePlan {
  authority: AuthorityStep
  /** Why a new serving certificate is needed; undefined to keep the present one. */
  leaf: RenewalReason | undefined
  /** Whether expired CAs are removed from the bundle. */
  pruneRetired: boolean
  /** The time of the next check, in ms since 1970. */
  nextCheckAt: number
}

/** Decides what to do with the stored certificates now. After a plan is applied, the next plan changes nothing. */
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

/** Whether a plan changes the stored certificates. */
export function changesCertificates(plan: CertificatePlan): boolean {
  return plan.authority.kind !== 'keep' || plan.leaf !== undefined || plan.pruneRetired
}

function stepOfAuthority(observed: ObservedCertificates, input: CertificatePlanInput): AuthorityStep {
  const { signing, next } = observed
  const { now, waitMs, published } = input
  const reason = reasonOfAge(signing, now) ?? (input.isRenewalRequested ? 'requested' : undefined)
  const nextFails = next === undefined ? undefined : reasonOfAge(next, now)

  // Callers accept no certificate of an expired CA, so an overlap is useless.
  if (reason === 'expired') {
    return next !== undefined && nextFails !== 'expired'
      ? { kind: 'promote-next', reason }
      : { kind: 'replace', reason }
  }
  // If a CA is not valid yet, our own clock may be wrong. Its replacement overlaps too, so that a server with a wrong clock does not remove
  // the CA that the other servers use.
  if (next === undefined) return reason === undefined ? { kind: 'keep' } : { kind: 'publish-next', reason }
  if (nextFails !== undefined && reason !== undefined) return { kind: 'publish-next', reason }
  if (nextFails === 'expired') return { kind: 'drop-next' }
  if (nextFails !== 'not-yet-valid' && mayStartToSign({ knownSince: next.knownSince, now, waitMs, published })) {
    return { kind: 'promote-next', reason: reason ?? 'requested' }
  }
  return { kind: 'keep' }
}
