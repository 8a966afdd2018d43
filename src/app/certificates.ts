/** Opens the serving certificate from its configured storage. */
import { defined } from '../base/json.ts'
import type { ApiConnection } from '../store/cluster/api-connection.ts'
import { openClusterStore } from '../store/cluster/cluster.ts'
import { openConnection } from '../store/cluster/connection.ts'
import { openCertificateFiles } from '../tls/files.ts'
import { openFolderStorage } from '../tls/folder-storage.ts'
import { openCertificates } from '../tls/rotation.ts'
import { openSecretStorage } from '../tls/secret-storage.ts'
import type { CertificateObserver, CertificateSource } from '../tls/source.ts'
import type { CertificateStorage } from '../tls/storage.ts'
import type { Config } from './config/config.ts'

/**
 * Opens the serving certificates, and creates them first if Lodestone manages them. A new CA does not sign before `isPublished` confirms
 * that callers have it. If the storage is not usable, it rejects with a message that names it.
 */
export async function openServingCertificates(
  config: Config,
  observer: CertificateObserver,
  now: () => number,
  isPublished?: (caBundlePem: string) => boolean | undefined,
): Promise<CertificateSource> {
  const { source, directory } = config.certificates
  if (source === 'files') return openCertificateFiles({ folder: directory, now, observer })
  return openCertificates(
    defined({ storage: await openStorage(config), hosts: servingHosts(config), now, observer, isPublished }),
  )
}

/** Returns every host name of the server. */
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
 * Opens the storage. The Secret is in the cluster in which Lodestone runs, even if it serves a hub. In karmada-apiserver, a user's policy
 * could propagate the Secret to members. `connection` leads to this cluster; without it, the ServiceAccount of the pod does.
 */
export async function openStorage({ certificates }: Config, connection?: ApiConnection): Promise<CertificateStorage> {
  if (certificates.source !== 'secret') return openFolderStorage(certificates.directory)
  const store = openClusterStore({ connection: connection ?? (await openConnection({ inCluster: true })), kinds: [] })
  return openSecretStorage({ store, ...certificates.secret })
}
