/** Decides when a CA or a serving certificate has to be replaced: for each of the two alone, since either may fail alone. */

/** When a certificate is valid, in milliseconds since 1970. */
export interface Validity {
  notBefore: number
  notAfter: number
}

/** Why a certificate is replaced; written to logs as it is. */
export type RenewalReason =
  | 'missing'
  | 'asked-for'
  | 'expired'
  | 'not-yet-valid'
  | 'two-thirds-of-life'
  | 'hosts-not-covered'
  | 'not-signed-by-ca'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

/** How long a CA lives: long enough that its switch is rare, short enough that the switch is practised every year. */
export const CA_LIFE_MS = 365 * DAY_MS
/** How long a serving certificate lives. */
export const LEAF_LIFE_MS = 90 * DAY_MS
/** How far `notBefore` lies in the past, so that a caller whose clock is slow accepts a certificate that was just made. */
export const CLOCK_SKEW_MS = 60 * MINUTE_MS
/** How often certificates are looked at. */
export const CHECK_INTERVAL_MS = MINUTE_MS
/** How long a published CA waits for the callers to hear of it before it signs. */
export const OVERLAP_MS = MINUTE_MS

export interface LeafRenewalInput {
  leaf: Validity
  /** The CA that would sign a new one. */
  ca: Validity
  signedByCa: boolean
  uncoveredHosts: readonly string[]
  /** Milliseconds since 1970. */
  now: number
}

/** The moment (ms since 1970) at which two thirds of a certificate's life are over: a third is left to notice a failed renewal. */
export function renewalDueAt(validity: Validity): number {
  return validity.notBefore + ((validity.notAfter - validity.notBefore) * 2) / 3
}

/** Why a certificate is too old, or not of age yet, at `now` (ms since 1970); undefined while it is good. It is all that can be wrong with a CA. */
export function reasonOfAge(validity: Validity, now: number): RenewalReason | undefined {
  if (now >= validity.notAfter) return 'expired'
  if (now < validity.notBefore) return 'not-yet-valid'
  return now >= renewalDueAt(validity) ? 'two-thirds-of-life' : undefined
}

/** Why a serving certificate has to be replaced, or undefined while it is good. Reasons that callers feel come first. */
export function reasonToRenewLeaf(input: LeafRenewalInput): RenewalReason | undefined {
  const { leaf, ca, now } = input
  const age = reasonOfAge(leaf, now)
  if (age === 'expired' || age === 'not-yet-valid') return age
  if (!input.signedByCa) return 'not-signed-by-ca'
  if (input.uncoveredHosts.length > 0) return 'hosts-not-covered'
  // A leaf never outlives its CA. One that ends with the CA gains nothing from being made again by the same CA.
  return leaf.notAfter < ca.notAfter ? age : undefined
}

/** Which CAs callers should trust at `now`: every one that was ever published, until it expires. Keeps the order. */
export function trustedAuthorities<T extends Validity>(authorities: readonly T[], now: number): T[] {
  return authorities.filter((authority) => authority.notAfter > now)
}

export interface SigningStartInput {
  /** Since when this process has seen the new CA in the stored bundle. Not a stored time: other clocks may be wrong. */
  knownSince: number
  now: number
  /** How long every replica and every caller may take to learn of it. */
  waitMs: number
  /** Whether callers were given a bundle with the new CA; undefined when that is unknown, and then the time decides alone. */
  published: boolean | undefined
}

/** Whether a freshly made CA may sign: callers must have been able to hear of it before they meet its first certificate. */
export function mayStartToSign(input: SigningStartInput): boolean {
  return input.published !== false && input.now - input.knownSince >= input.waitMs
}

/** When to look again: after `checkIntervalMs`, or sooner when one of `moments` (ms since 1970) comes before that. */
export function nextCheckAt(now: number, checkIntervalMs: number, moments: readonly number[]): number {
  return Math.min(now + checkIntervalMs, ...moments.filter((moment) => moment > now))
}
