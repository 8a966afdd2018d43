/** Makes the CA that callers trust. It signs serving certificates and nothing else. */
import { CA_LIFE_MS, CLOCK_SKEW_MS } from '../core/certificates/renew.ts'
import { keyIdentifier, makeCertificate } from './new-certificate.ts'
import type { PemPair } from './x509.ts'

/** Makes a self-signed CA (RSA 2048) that lives for a year from `now` (ms since 1970) and is valid an hour back. */
export function makeAuthority(now: number): Promise<PemPair> {
  return makeCertificate({
    // A name of its own for each CA: a caller with several in its bundle then never tries the wrong one.
    commonName: (serial) => `lodestone-ca-${serial.slice(0, 12)}`,
    validity: { notBefore: now - CLOCK_SKEW_MS, notAfter: now + CA_LIFE_MS },
    extensions: (publicKey) => [
      { name: 'basicConstraints', critical: true, cA: true, pathLenConstraint: 0 },
      { name: 'keyUsage', critical: true, keyCertSign: true, cRLSign: true },
      { name: 'subjectKeyIdentifier', subjectKeyIdentifier: keyIdentifier(publicKey) },
    ],
  })
}
