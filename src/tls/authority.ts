/** Creates the CA that callers trust. The CA signs only serving certificates. */
import { keyIdentifier, makeCertificate } from './new-certificate.ts'
import { CA_LIFE_MS, CLOCK_SKEW_MS } from './renew.ts'
import type { PemPair } from './x509.ts'

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
