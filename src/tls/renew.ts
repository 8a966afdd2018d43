/** Decides when a CA or a serving certificate must be replaced. Each is decided separately, since either may fail alone. */

/** When a certificate is valid, in milliseconds since 1970. */
export interface Validity {
  notBefore: number
  notAfter: number
}

/** Why a certificate is replaced; the value is also logged. */
export type RenewalReason =
  | 'missing'
  | 'requested'
  | 'expired'
  | 'not-yet-valid'
  | 'two-thirds-of-life'
  | 'hosts-not-covered'
  | 'not-signed-by-ca'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

/** The lifetime of a CA: its replacement is rare, but still happens every year and so is known to work. */
export const CA_LIFE_MS = 365 * DAY_MS
/** The lifetime of a serving certificate. */
export const LEAF_LIFE_MS = 90 * DAY_MS
/** How far `notBefore` is in the past, so that a caller with a slow clock accepts a new certificate. */
export const CLOCK_SKEW_MS = 60 * MINUTE_MS
/** The interval of checks. */
export const CHECK_INTERVAL_MS = MINUTE_MS
/** How long a published CA waits before it signs, so that callers receive the new bundle first. */
export const OVERLAP_MS = MINUTE_MS

export interface LeafRenewalInput {
  leaf: Validity
  /** The CA that would sign the new certificate. */
  ca: Validity
  signedByCa: boolean
  uncoveredHosts: readonly string[]
  /** Milliseconds since 1970. */
  now: number
}

/** Returns when two thirds of a certificate's lifetime are over, in ms since 1970. The last third is left to repair a failed renewal. */
export function renewalDueAt(validity: Validity): number {
  return validity.notBefore + ((validity.notAfter - validity.notBefore) * 2) / 3
}

/**
 * Returns why a certificate is too old, or not valid yet, at `now` (ms since 1970); undefined while it is valid. For a CA, no other check
 * is needed.
 */
export function reasonOfAge(validity: Validity, now: number): RenewalReason | undefined {
  if (now >= validity.notAfter) return 'expired'
  if (now < validity.notBefore) return 'not-yet-valid'
  return now >= renewalDueAt(validity) ? 'two-thirds-of-life' : undefined
}

/** Returns why a serving certificate must be replaced; undefined while it is valid. Reasons that affect callers come first. */
export function reasonToRenewLeaf(input: LeafRenewalInput): RenewalReason | undefined {
  const { leaf, ca, now } = input
  const age = reasonOfAge(leaf, now)
  if (age === 'expired' || age === 'not-yet-valid') return age
  if (!input.signedByCa) return 'not-signed-by-ca'
  if (input.uncoveredHosts.length > 0) return 'hosts-not-covered'
  // A serving certificate never outlives its CA. If it ends with the CA, a new one from the same CA would not last longer.
  return leaf.notAfter < ca.notAfter ? age : undefined
}

/** Returns the CAs that callers should trust at `now`: every published CA until it expires. Keeps the order. */
export function trustedAuthorities<T extends Validity>(authorities: readonly T[], now: number): T[] {
  return authorities.filter((authority) => authority.notAfter > now)
}

export interface SigningStartInput {
  /** When this process first read the new CA in the stored bundle. A stored time is not used, since other clocks may be wrong. */
  knownSince: number
  now: number
  /** How long each replica and caller may need to receive it. */
  waitMs: number
  /** Whether callers received a bundle with the new CA. If it is undefined, only the time decides. */
  published: boolean | undefined
}

/** Whether a new CA may sign: callers must have received it before they see its first certificate. */
export function mayStartToSign(input: SigningStartInput): boolean {
  return input.published !== false && input.now - input.knownSince >= input.waitMs
}

/** Returns the time of the next check: after `checkIntervalMs`, or earlier if one of `moments` (ms since 1970) is earlier. */
export function nextCheckAt(now: number, checkIntervalMs: number, moments: readonly number[]): number {
  return Math.min(now + checkIntervalMs, ...moments.filter((moment) => moment > now))
}
