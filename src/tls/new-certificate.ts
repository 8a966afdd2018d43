/** Creates certificates, for a CA or a server: with an RSA key, a serial number, a validity and a signature. */
import { generateKeyPair, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import forge from 'node-forge'
import { type Issuer, signCertificate } from './issuer.ts'
import type { Validity } from './renew.ts'
import type { PemPair } from './x509.ts'

export interface NewCertificateInput {
  commonName: (serial: string) => string
  validity: Validity
  /** Extensions as node-forge names them, given the serial number and the new key. */
  extensions: (publicKey: forge.pki.rsa.PublicKey) => object[]
  /** The CA that signs; absent for a self-signed certificate. */
  issuer?: Issuer & { keyPem: string }
}

const generateKeyPairAsync = promisify(generateKeyPair)
// node-forge creates no ECDSA certificates. Every caller accepts RSA with 2048 bits.
const MODULUS_LENGTH = 2048
const ORGANIZATION = 'lodestone'

/**
 * Creates a key and its certificate. node:crypto generates the key outside the event loop: the generator of node-forge would block all
 * admission reviews for half a second.
 */
export async function makeCertificate(input: NewCertificateInput): Promise<PemPair> {
  const keys = await generateKeyPairAsync('rsa', {
    modulusLength: MODULUS_LENGTH,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  const publicKey = forge.pki.publicKeyFromPem(keys.publicKey) as forge.pki.rsa.PublicKey
  const certificate = forge.pki.createCertificate()
  const subject = distinguishedName(input.commonName(randomSerial(certificate)))
  certificate.publicKey = publicKey
  certificate.validity.notBefore = new Date(input.validity.notBefore)
  certificate.validity.notAfter = new Date(input.validity.notAfter)
  certificate.setSubject(subject)
  certificate.setExtensions(input.extensions(publicKey))
  const { issuer } = input
  return { certPem: signCertificate(certificate, issuer?.keyPem ?? keys.privateKey, issuer), keyPem: keys.privateKey }
}

/** The subject key identifier of a key, as raw bytes: RFC 5280 §4.2.1.2, method 1. */
export function keyIdentifier(publicKey: forge.pki.rsa.PublicKey): string {
  return forge.pki.getPublicKeyFingerprint(publicKey, { type: 'RSAPublicKey', md: forge.md.sha1.create() }).getBytes()
}

// RFC 5280 §4.1.2.2: positive and at most 20 octets. The first byte is 0x40 to 0x7f, to avoid a sign bit and a leading zero.
function randomSerial(certificate: forge.pki.Certificate): string {
  const bytes = randomBytes(16)
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40
  certificate.serialNumber = bytes.toString('hex')
  return certificate.serialNumber
}

function distinguishedName(commonName: string): forge.pki.CertificateField[] {
  return [
    { name: 'organizationName', value: ORGANIZATION },
    { name: 'commonName', value: commonName },
  ]
}
