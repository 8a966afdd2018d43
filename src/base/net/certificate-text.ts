/** Recognizes certificates in PEM form. */

/** The labels that OpenSSL reads. Go reads the first one alone. */
const CERTIFICATE = /-----BEGIN (X509 |TRUSTED )?CERTIFICATE-----[^-]+-----END \1CERTIFICATE-----/

/**
 * Returns why a text has no certificate, for after its name; undefined if it has one. Node.js accepts any text as CAs, and then trusts no
 * server.
 */
export function certificateProblem(pem: string): string | undefined {
  return CERTIFICATE.test(pem) ? undefined : 'has no certificate in PEM form'
}
