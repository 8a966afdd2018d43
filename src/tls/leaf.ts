/** Makes the serving certificate: the one that the API server sees and checks against the host it called. */
import { isIP } from 'node:net'
import forge from 'node-forge'
import { CLOCK_SKEW_MS, LEAF_LIFE_MS } from '../core/certificates/renew.ts'
import { keyIdentifier, makeCertificate } from './new-certificate.ts'
import { type PemPair, parseCertificates } from './x509.ts'

export interface LeafInput {
  ca: PemPair
  /** DNS names (`*.` in front is allowed) and IP addresses. */
  hosts: readonly string[]
  /** Milliseconds since 1970. */
  now: number
}

const DNS_LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/
const SAN_DNS = 2
const SAN_IP = 7

/**
 * Makes a serving certificate (RSA 2048) for `hosts`, signed by `ca`, for 90 days but no longer than the CA lives, valid an
 * hour back. Throws an Error for a host that is neither a DNS name nor an IP address, and for an empty list.
 */
export async function makeLeaf(input: LeafInput): Promise<PemPair> {
  const hosts = normalizeHosts(input.hosts)
  const [ca] = parseCertificates(input.ca.certPem)
  const caKey = forge.pki.certificateFromPem(input.ca.certPem).publicKey as forge.pki.rsa.PublicKey
  return makeCertificate({
    // Callers look at the SAN alone; a service's name may be longer than the 64 characters that a common name holds.
    commonName: () => 'lodestone',
    validity: {
      notBefore: input.now - CLOCK_SKEW_MS,
      notAfter: Math.min(input.now + LEAF_LIFE_MS, ca.notAfter),
    },
    issuer: input.ca,
    extensions: (publicKey) => [
      { name: 'basicConstraints', critical: true, cA: false },
      { name: 'keyUsage', critical: true, digitalSignature: true, keyEncipherment: true },
      { name: 'extKeyUsage', serverAuth: true },
      {
        name: 'subjectAltName',
        altNames: hosts.map((host) => (isIP(host) === 0 ? { type: SAN_DNS, value: host } : { type: SAN_IP, ip: host })),
      },
      { name: 'subjectKeyIdentifier', subjectKeyIdentifier: keyIdentifier(publicKey) },
      { name: 'authorityKeyIdentifier', keyIdentifier: keyIdentifier(caKey) },
    ],
  })
}

/**
 * Hosts in the form of a certificate: lower case, IPv6 addresses in their shortest form, without duplicates.
 * Throws an Error for a host that is neither a DNS name nor an IP address, and for an empty list.
 */
export function normalizeHosts(hosts: readonly string[]): string[] {
  if (hosts.length === 0) throw new Error('a serving certificate needs at least one host')
  return [...new Set(hosts.map(normalizeHost))]
}

function normalizeHost(host: string): string {
  const lower = host.toLowerCase()
  if (isIP(lower) === 4) return lower
  if (isIP(lower) === 6 && !lower.includes('%')) return new URL(`https://[${lower}]`).hostname.slice(1, -1)
  const labels = lower.replace(/^\*\./, '').split('.')
  if (lower.length > 253 || !labels.every((label) => DNS_LABEL.test(label)) || /^[0-9.]+$/.test(lower)) {
    throw new Error(`${JSON.stringify(host)} is neither a DNS name nor an IP address`)
  }
  return lower
}
