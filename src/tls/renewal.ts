/** Applies a certificate plan: observes the stored state and creates the next one. */
import { defined } from '../base/json.ts'
import { makeLeaf } from './leaf.ts'
import { keyIdentifier, makeCertificate } from './new-certificate.ts'
import type { CertificatePlan, ObservedCertificates } from './plan-certificates.ts'
import { CA_LIFE_MS, CLOCK_SKEW_MS, trustedAuthorities } from './renew.ts'
import type { StoredCertificates } from './storage.ts'
import { certificateHosts, isSignedBy, type PemPair, parseCertificates, uncoveredHosts } from './x509.ts'

export interface GatherCertificatesInput {
  stored: StoredCertificates
  hosts: readonly string[]
  /** When this process first read the next CA, in ms since the epoch. */
  nextKnownSince: number
}

/** Observes the stored certificates, as input of the plan. */
export function gatherCertificates(input: GatherCertificatesInput): ObservedCertificates {
  const { stored, hosts, nextKnownSince } = input
  const [signing] = parseCertificates(stored.signing.certPem)
  const [leaf] = parseCertificates(stored.leaf.certPem)
  return defined({
    signing,
    next: stored.next && { ...parseCertificates(stored.next.certPem)[0], knownSince: nextKnownSince },
    retired: stored.retired.map((pem) => parseCertificates(pem)[0]),
    leaf: { ...leaf, uncoveredHosts: uncoveredHosts(leaf, hosts), signedByCa: isSignedBy(leaf, signing) },
  })
}

export interface ApplyCertificatePlanInput {
  plan: CertificatePlan
  stored: StoredCertificates | undefined
  hosts: readonly string[]
  /** Milliseconds since the epoch. */
  now: number
}

/** Returns the certificates to store after the plan, and creates the new keys and certificates. */
export async function applyCertificatePlan(input: ApplyCertificatePlanInput): Promise<StoredCertificates> {
  const { plan, stored, now } = input
  const authorities = await applyAuthorityStep(input)
  const retired = authorities.retired.filter((pem) => trustedAuthorities(parseCertificates(pem), now).length > 0)
  if (plan.leaf === undefined && stored !== undefined) return { ...authorities, retired, leaf: stored.leaf }
  const leaf = await makeLeaf({ ca: authorities.signing, hosts: hostsOfNewLeaf(input), now })
  return { ...authorities, retired, leaf }
}

async function applyAuthorityStep(input: ApplyCertificatePlanInput): Promise<Omit<StoredCertificates, 'leaf'>> {
  const { plan, stored, now } = input
  if (stored === undefined) return { signing: await makeAuthority(now), retired: [] }
  const { signing, next, retired } = stored
  const nextCerts = pairCertificates(next)
  switch (plan.authority.kind) {
    case 'keep':
      return defined({ signing, next, retired })
    case 'publish-next':
      return { signing, next: await makeAuthority(now), retired: [...nextCerts, ...retired] }
    case 'promote-next':
      return { signing: next ?? signing, retired: [signing.certPem, ...retired] }
    case 'drop-next':
      return { signing, retired }
    case 'replace':
      return { signing: await makeAuthority(now), retired: [...nextCerts, signing.certPem, ...retired] }
  }
}

// During a rollout that changes the hosts, old and new replicas need different hosts in the same certificate. A certificate for both ends
// the conflict. The next renewal because of its age removes hosts that are not needed any more.
function hostsOfNewLeaf({ plan, stored, hosts }: ApplyCertificatePlanInput): readonly string[] {
  if (plan.leaf !== 'hosts-not-covered' || stored === undefined) return hosts
  return [...hosts, ...certificateHosts(parseCertificates(stored.leaf.certPem)[0])]
}

function pairCertificates(pair: PemPair | undefined): string[] {
  return pair === undefined ? [] : [pair.certPem]
}

/** Creates a self-signed CA (RSA 2048) that is valid from an hour before `now` (ms since the epoch) to a year after it. */
export function makeAuthority(now: number): Promise<PemPair> {
  return makeCertificate({
    // Each CA has a unique name, so that a caller with several CAs in its bundle tries the right one.
    commonName: (serial) => `lodestone-ca-${serial.slice(0, 12)}`,
    validity: { notBefore: now - CLOCK_SKEW_MS, notAfter: now + CA_LIFE_MS },
    extensions: (publicKey) => [
      { name: 'basicConstraints', critical: true, cA: true, pathLenConstraint: 0 },
      { name: 'keyUsage', critical: true, keyCertSign: true, cRLSign: true },
      { name: 'subjectKeyIdentifier', subjectKeyIdentifier: keyIdentifier(publicKey) },
    ],
  })
}
