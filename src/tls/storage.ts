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
  /** What is stored, undefined when nothing is. Throws `BrokenCertificatesError` when it cannot be used. */
  read(): Promise<StoredCertificates | undefined>
  /**
   * Replaces `previous` (what `read` gave, undefined for nothing) by `next`, as one step.
   * Gives false, and changes nothing, when something else is stored by now: somebody was quicker.
   */
  write(next: StoredCertificates, previous: StoredCertificates | undefined): Promise<boolean>
}

/** Certificates were found that cannot be used; the message names the place and the way out, never a key's content. */
export class BrokenCertificatesError extends Error {
  override name = 'BrokenCertificatesError'
}
