/** Parses certificates and keys in PEM form, and checks whether they belong to each other. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { serverName } from '../base/net/server-name.ts'
import type { Validity } from './renew.ts'

/** A certificate and its private key, both in PEM form. */
export interface PemPair {
  certPem: string
  keyPem: string
}

export interface ParsedCertificate extends Validity {
  pem: string
  x509: X509Certificate
}

// Far longer than any chain. Large input has blocked PEM parsers (CVE-2024-12401).
const MAX_PEM_LENGTH = 256 * 1024
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g

/**
 * Parses the certificates in a PEM text, in order. Text between them is ignored. Throws an Error without a file name when there is none,
 * when one is invalid, or when the text is too long.
 */
export function parseCertificates(pem: string): [ParsedCertificate, ...ParsedCertificate[]] {
  if (pem.length > MAX_PEM_LENGTH) throw new Error(`is longer than ${MAX_PEM_LENGTH} characters`)
  const [first, ...others] = (pem.match(CERTIFICATE) ?? []).map(parseOne)
  if (first === undefined) throw new Error('has no certificate (-----BEGIN CERTIFICATE-----)')
  return [first, ...others]
}

/** Whether `keyPem` is the private key of `certificate`. Throws an Error without a file name when it is not a key in PEM form. */
export function belongsTo(certificate: ParsedCertificate, keyPem: string): boolean {
  let key: ReturnType<typeof createPrivateKey>
  try {
    key = createPrivateKey(keyPem)
  } catch (cause) {
    // The message of OpenSSL ("DECODER routines::unsupported") does not name the cause.
    throw new Error('has no private key in PEM form without a passphrase', { cause })
  }
  return certificate.x509.checkPrivateKey(key)
}

/** Whether `ca` signed `certificate`. It compares the issuer and the key identifiers, and verifies the signature. */
export function isSignedBy(certificate: ParsedCertificate, ca: ParsedCertificate): boolean {
  return certificate.x509.checkIssued(ca.x509) && certificate.x509.verify(ca.x509.publicKey)
}

/** Returns the `hosts` (DNS names, `*.` names, IP addresses) that are not in the SAN of a certificate. */
export function uncoveredHosts(certificate: ParsedCertificate, hosts: readonly string[]): string[] {
  const own = certificateHosts(certificate)
  return hosts.filter((host) => {
    const name = serverName(host)
    if (name === undefined) return certificate.x509.checkIP(host) === undefined
    if (name.startsWith('*.')) return !own.includes(name.toLowerCase())
    return certificate.x509.checkHost(name, { subject: 'never' }) === undefined
  })
}

/** The DNS names and IP addresses in the SAN of a certificate. */
export function certificateHosts(certificate: ParsedCertificate): string[] {
  const names = certificate.x509.subjectAltName ?? ''
  return [...names.matchAll(/(?:^|, )(?:DNS|IP Address):([^,"]+)/g)].map((match) => (match[1] ?? '').toLowerCase())
}

/** Joins PEM texts, each with a line break at its end. */
export function joinPem(pems: readonly string[]): string {
  return pems.map((pem) => `${pem.trim()}\n`).join('')
}

function parseOne(pem: string): ParsedCertificate {
  let x509: X509Certificate
  try {
    x509 = new X509Certificate(pem)
  } catch (cause) {
    throw new Error('has an invalid certificate', { cause })
  }
  return { pem: `${pem}\n`, x509, notBefore: x509.validFromDate.getTime(), notAfter: x509.validToDate.getTime() }
}
