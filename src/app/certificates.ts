/** Opens the serving certificate from where the configuration says that it is kept. */
import { openClusterStore } from '../store/cluster/cluster.ts'
import { openConnection } from '../store/cluster/connection.ts'
import { openCertificateFiles } from '../tls/files.ts'
import { openFolderStorage } from '../tls/folder-storage.ts'
import { openCertificates } from '../tls/rotation.ts'
import { openSecretStorage } from '../tls/secret-storage.ts'
import type { CertificateObserver, CertificateSource } from '../tls/source.ts'
import type { CertificateStorage } from '../tls/storage.ts'
import type { Config } from './config.ts'

/**
 * Opens the serving certificates, and creates them first where Lodestone manages them. A new CA does not sign before `isPublished` confirms
 * that callers have it. Rejects with a message that names the place when it cannot be used.
 */
export async function openServingCertificates(
  config: Config,
  observer: CertificateObserver,
  now: () => number,
  isPublished?: (caBundlePem: string) => boolean | undefined,
): Promise<CertificateSource> {
  const { source, directory } = config.certificates
  if (source === 'files') return openCertificateFiles({ folder: directory, now, observer })
  return openCertificates({
    storage: openStorage(config),
    hosts: servingHosts(config),
    now,
    observer,
    ...(isPublished && { isPublished }),
  })
}

/** Every name by which the server is called. */
export function servingHosts({ registration, certificates }: Config): string[] {
  const { service, url } = registration
  return [
    ...new Set([
      ...(url ? [new URL(url).hostname.replace(/^\[|\]$/g, '')] : []),
      `${service.name}.${service.namespace}.svc`,
      'localhost',
      '127.0.0.1',
      '::1',
      ...certificates.hosts,
    ]),
  ]
}

/**
 * The Secret lives in the cluster that Lodestone runs in, also if it serves a hub. In karmada-apiserver, a policy of a user could
 * propagate it to the members.
 */
export function openStorage({ certificates }: Config): CertificateStorage {
  if (certificates.source !== 'secret') return openFolderStorage(certificates.directory)
  const store = openClusterStore({ connection: openConnection({ inCluster: true }), kinds: [] })
  return openSecretStorage({ store, ...certificates.secret })
}
