/** Keeps certificates as long as the process lives: for servers that no client has to trust after a restart. */
import type { CertificateStorage, StoredCertificates } from './storage.ts'
import { sameCertificates } from './stored-files.ts'

/** A storage that several sources of one process may share; it starts empty. */
export function openMemoryStorage(): CertificateStorage {
  let stored: StoredCertificates | undefined
  return {
    read: () => Promise.resolve(stored),
    write(next, previous) {
      if (!sameCertificates(stored, previous)) return Promise.resolve(false)
      stored = next
      return Promise.resolve(true)
    },
  }
}
