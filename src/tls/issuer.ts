/** Reads what a certificate takes over from its CA, and signs it with the key of the CA. Other tools may have created the CA. */
import { createPrivateKey, type KeyObject, sign, X509Certificate } from 'node:crypto'
import forge from 'node-forge'
import { BrokenCertificatesError } from './storage.ts'

const { asn1 } = forge
type Asn1 = forge.asn1.Asn1

/** What the certificates of a CA repeat. */
export interface Issuer {
  /** The name of the CA, as it is encoded there. Go compares the bytes of names. */
  name: Asn1
  /** The raw bytes of its subject key identifier; undefined if it has none. Each tool may compute its own (RFC 5280 §4.2.1.2). */
  keyIdentifier: string | undefined
}

/** How a key signs: the algorithm of the certificate (RFC 4055, RFC 5758, RFC 8410), and the digest of `crypto.sign`. */
interface SignatureAlgorithm {
  oid: string
  digest: 'sha256' | undefined
  hasParameters: boolean
}

const ALGORITHMS: Readonly<Record<string, SignatureAlgorithm>> = {
  rsa: { oid: '1.2.840.113549.1.1.11', digest: 'sha256', hasParameters: true },
  ec: { oid: '1.2.840.10045.4.3.2', digest: 'sha256', hasParameters: false },
  ed25519: { oid: '1.3.101.112', digest: undefined, hasParameters: false },
}

const SUBJECT_KEY_IDENTIFIER = '2.5.29.14'
/** The places of fields in a TBSCertificate with a version (RFC 5280 §4.1). A certificate of version 1 has no version field. */
const [SIGNATURE, ISSUER, SUBJECT] = [2, 3, 5]
const EXTENSIONS_TAG = 3

/** Reads the CA of a certificate in PEM form. */
export function readIssuer(certPem: string): Issuer {
  const [tbs] = children(asn1.fromDer(new X509Certificate(certPem).raw.toString('latin1')))
  const fields = children(tbs)
  const hasVersion = isTagged(fields[0], 0)
  const name = fields[hasVersion ? SUBJECT : SUBJECT - 1]
  if (name === undefined) throw new Error('the certificate of the CA has no subject')
  return { name, keyIdentifier: findKeyIdentifier(fields) }
}

/**
 * Returns a certificate in PEM form, signed by the key of its issuer. `certificate` has all fields but the issuer and the signature.
 *
 * @param issuer absent for a self-signed certificate
 * @throws BrokenCertificatesError for a key that cannot sign certificates here
 */
export function signCertificate(
  certificate: forge.pki.Certificate,
  keyPem: string,
  issuer: Pick<Issuer, 'name'> | undefined,
): string {
  const key = createPrivateKey(keyPem)
  const algorithm = algorithmOf(key)
  certificate.siginfo.algorithmOid = algorithm.oid
  certificate.signatureOid = algorithm.oid
  const [tbs] = children(forge.pki.certificateToAsn1(certificate))
  const fields = children(tbs)
  fields[SIGNATURE] = algorithmIdentifier(algorithm)
  const name = issuer?.name ?? fields[SUBJECT]
  if (name) fields[ISSUER] = name
  const signed = sequence(fields)
  const signature = sign(algorithm.digest, toBytes(signed), key)
  const bits = asn1.create(asn1.Class.UNIVERSAL, asn1.Type.BITSTRING, false, `\0${signature.toString('latin1')}`)
  return new X509Certificate(toBytes(sequence([signed, algorithmIdentifier(algorithm), bits]))).toString()
}

function algorithmOf({ asymmetricKeyType }: KeyObject): SignatureAlgorithm {
  const algorithm = asymmetricKeyType && ALGORITHMS[asymmetricKeyType]
  if (!algorithm)
    throw new BrokenCertificatesError(`the key of the CA is of type ${asymmetricKeyType}; use RSA, ECDSA or Ed25519`)
  return algorithm
}

function algorithmIdentifier({ oid, hasParameters }: SignatureAlgorithm): Asn1 {
  const { UNIVERSAL } = asn1.Class
  const identifier = asn1.create(UNIVERSAL, asn1.Type.OID, false, asn1.oidToDer(oid).getBytes())
  return sequence(hasParameters ? [identifier, asn1.create(UNIVERSAL, asn1.Type.NULL, false, '')] : [identifier])
}

function findKeyIdentifier(fields: readonly Asn1[]): string | undefined {
  const [list] = children(fields.find((field) => isTagged(field, EXTENSIONS_TAG)))
  for (const extension of children(list)) {
    const [oid, ...others] = children(extension)
    const value = others.at(-1)?.value
    if (typeof oid?.value !== 'string' || asn1.derToOid(oid.value) !== SUBJECT_KEY_IDENTIFIER) continue
    if (typeof value !== 'string') continue
    // The extension is an octet string within an octet string.
    const { value: identifier } = asn1.fromDer(value)
    return typeof identifier === 'string' ? identifier : undefined
  }
  return undefined
}

function isTagged(field: Asn1 | undefined, tag: number): boolean {
  return field?.tagClass === asn1.Class.CONTEXT_SPECIFIC && (field.type as number) === tag
}

function children(node: Asn1 | undefined): Asn1[] {
  return Array.isArray(node?.value) ? node.value : []
}

function sequence(fields: Asn1[]): Asn1 {
  return asn1.create(asn1.Class.UNIVERSAL, asn1.Type.SEQUENCE, true, fields)
}

function toBytes(node: Asn1): Buffer {
  return Buffer.from(asn1.toDer(node).getBytes(), 'latin1')
}
