/** Where certificates are kept between runs and shared between replicas. One writer at a time wins, the others read again. */
import type { PemPair } from './x509.ts'

export interface StoredCertificates {
  /** The CA that signs. */
  signing: PemPair
  /** The CA that will sign next; in the bundle already. */
  next?: PemPair
  /** CAs that signed once and are still trusted, newest first, in PEM form. Their keys are gone. */
  retired: readonly string[]
  /** The serving certificate, the same for every replica. */
  leaf: PemPair
}

export interface CertificateStorage {
  /** The stored certificates; undefined if there are none. Throws `BrokenCertificatesError` if they cannot be used. */
  read(): Promise<StoredCertificates | undefined>
  /**
   * Replaces `previous` (the result of `read`, undefined for none) by `next`, as one step.
   * Returns false, and changes nothing, if the stored state is not `previous` any more: another process was faster.
   */
  write(next: StoredCertificates, previous: StoredCertificates | undefined): Promise<boolean>
}

/** Certificates were found that cannot be used; the message names the place and the way out, never a key's content. */
export class BrokenCertificatesError extends Error {
  override name = 'BrokenCertificatesError'
}
