/** Encodes stored certificates as named texts, for the files of a folder or the keys of a Secret. The names are those of cert-manager. */
import { certificatesIn, pairIn, type StoragePlace } from './pem-files.ts'
import type { StoredCertificates } from './storage.ts'
import { joinPem, type ParsedCertificate, type PemPair } from './x509.ts'

/** The trusted CAs, newest first: the next CA (if `ca-next.key` exists), the signing CA, and retired CAs. */
export const CA_FILE = 'ca.crt'
/** The key of the signing CA. */
export const CA_KEY_FILE = 'ca.key'
/** The key of the CA that will sign next. */
const NEXT_CA_KEY_FILE = 'ca-next.key'
export const LEAF_FILE = 'tls.crt'
export const LEAF_KEY_FILE = 'tls.key'

/** All names that Lodestone writes. */
export const STORED_FILES = [CA_FILE, CA_KEY_FILE, NEXT_CA_KEY_FILE, LEAF_FILE, LEAF_KEY_FILE] as const

export type StoredFiles = Partial<Record<(typeof STORED_FILES)[number], string>>

/** The bundle that callers should trust. Its order stays the same when the next CA begins to sign, so the registration is not rewritten. */
export function joinCaBundle(certificates: StoredCertificates): string {
  const { next, signing, retired } = certificates
  return joinPem([...(next === undefined ? [] : [next.certPem]), signing.certPem, ...retired])
}

export function encodeStoredFiles(certificates: StoredCertificates): StoredFiles {
  const { next, signing, leaf } = certificates
  return {
    [CA_FILE]: joinCaBundle(certificates),
    [CA_KEY_FILE]: signing.keyPem,
    ...(next === undefined ? {} : { [NEXT_CA_KEY_FILE]: next.keyPem }),
    [LEAF_FILE]: leaf.certPem,
    [LEAF_KEY_FILE]: leaf.keyPem,
  }
}

/**
 * Decodes the files of `encodeStoredFiles`; undefined when none of them exists. Throws `BrokenCertificatesError` when a file is missing or
 * invalid, or when a key does not belong to its certificate. A leaf of another CA is valid here: it is renewed, so that an operator can
 * replace the CA.
 */
export function decodeStoredFiles(files: StoredFiles, place: StoragePlace): StoredCertificates | undefined {
  if (STORED_FILES.every((name) => files[name] === undefined)) return undefined
  const cas = [...certificatesIn(CA_FILE, files, place)]
  const hasNext = files[NEXT_CA_KEY_FILE] !== undefined
  const next = hasNext ? storedPair(cas.shift(), CA_FILE, NEXT_CA_KEY_FILE) : undefined
  const signing = storedPair(cas.shift(), CA_FILE, CA_KEY_FILE)
  const leaf = storedPair(certificatesIn(LEAF_FILE, files, place)[0], LEAF_FILE, LEAF_KEY_FILE)
  return { signing, ...(next === undefined ? {} : { next }), retired: cas.map((ca) => ca.pem), leaf }

  function storedPair(certificate: ParsedCertificate | undefined, certName: string, keyName: string): PemPair {
    return pairIn({ certificate, certName, keyName }, files, place)
  }
}

/** Whether two states are equal, byte for byte. */
export function sameCertificates(a: StoredCertificates | undefined, b: StoredCertificates | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  const [left, right] = [encodeStoredFiles(a), encodeStoredFiles(b)]
  return STORED_FILES.every((name) => left[name] === right[name])
}
