/**
 * The interface of certificate storages, which keep certificates between runs and share them between replicas. A concurrent write fails,
 * and the replica reads again.
 */
import { UserError } from '../base/user-error.ts'
import type { PemPair } from './x509.ts'

export interface StoredCertificates {
  /** The CA that signs the leaf. */
  signing: PemPair
  /** The CA that will sign next. It is in the bundle already. */
  next?: PemPair
  /** Earlier CAs that are still trusted, newest first, as PEM. Their keys are deleted. */
  retired: readonly string[]
  /** The serving certificate, the same for every replica. */
  leaf: PemPair
}

export interface CertificateStorage {
  /** Returns the stored certificates; undefined if there are none. Throws `BrokenCertificatesError` if they are invalid. */
  read(): Promise<StoredCertificates | undefined>
  /**
   * Replaces `previous` (the result of `read`, undefined for none) by `next` atomically. Returns false, and changes nothing, if the stored
   * state is not `previous` any more, because another process wrote first.
   */
  write(next: StoredCertificates, previous: StoredCertificates | undefined): Promise<boolean>
}

/** The stored certificates are invalid. The message names the place and the remedy, never the content of a key. */
export class BrokenCertificatesError extends UserError {
  override name = 'BrokenCertificatesError'
  override readonly exitStatus = 1
}
