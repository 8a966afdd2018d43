/** Creates the serving certificate, which the API server verifies against the host of the webhook. */
import { isIP } from 'node:net'
import { normalizeHosts } from './hosts.ts'
import { readIssuer } from './issuer.ts'
import { keyIdentifier, makeCertificate } from './new-certificate.ts'
import { CLOCK_SKEW_MS, LEAF_LIFE_MS } from './renew.ts'
import { BrokenCertificatesError } from './storage.ts'
import { isSignedBy, type PemPair, parseCertificates } from './x509.ts'

export interface LeafInput {
  ca: PemPair
  /** DNS names (`*.` as a prefix is allowed) and IP addresses. */
  hosts: readonly string[]
  /** Milliseconds since the epoch. */
  now: number
}

const SAN_DNS = 2
const SAN_IP = 7

/**
 * Creates a serving certificate (RSA 2048) for `hosts`, signed by `ca`. It is valid from an hour before `now` for 90 days, but not longer
 * than the CA. Throws an Error for an invalid host and for an empty list, and BrokenCertificatesError for a CA that cannot sign.
 */
export async function makeLeaf(input: LeafInput): Promise<PemPair> {
  const hosts = normalizeHosts(input.hosts)
  const [ca] = parseCertificates(input.ca.certPem)
  const issuer = { ...readIssuer(input.ca.certPem), keyPem: input.ca.keyPem }
  const leaf = await makeCertificate({
    // Callers verify only the SAN. The name of a Service may be longer than the 64 characters of a common name.
    commonName: () => 'lodestone',
    validity: {
      notBefore: input.now - CLOCK_SKEW_MS,
      notAfter: Math.min(input.now + LEAF_LIFE_MS, ca.notAfter),
    },
    issuer,
    extensions: (publicKey) => [
      { name: 'basicConstraints', critical: true, cA: false },
      { name: 'keyUsage', critical: true, digitalSignature: true, keyEncipherment: true },
      { name: 'extKeyUsage', serverAuth: true },
      {
        name: 'subjectAltName',
        altNames: hosts.map((host) => (isIP(host) === 0 ? { type: SAN_DNS, value: host } : { type: SAN_IP, ip: host })),
      },
      { name: 'subjectKeyIdentifier', subjectKeyIdentifier: keyIdentifier(publicKey) },
      ...(issuer.keyIdentifier === undefined
        ? []
        : [{ name: 'authorityKeyIdentifier', keyIdentifier: issuer.keyIdentifier }]),
    ],
  })
  // Callers would not accept it either. Without this check it would be created again and again.
  if (!isSignedBy(parseCertificates(leaf.certPem)[0], ca))
    throw new BrokenCertificatesError('the CA may not sign certificates; use one with the key usage keyCertSign')
  return leaf
}
