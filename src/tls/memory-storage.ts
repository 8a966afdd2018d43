/** Stores certificates in memory, for servers that no client has to trust after a restart. */
import type { CertificateStorage, StoredCertificates } from './storage.ts'
import { sameCertificates } from './stored-files.ts'

/** Opens an empty storage. Several sources of one process may share it. */
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
