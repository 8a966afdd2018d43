/** Decides the cluster of the printed kubeconfig: the address for pods, and how its certificate is verified. */
import { defined } from '../../base/json.ts'
import { localHostFault } from '../../base/net/local-address.ts'
import { UserError } from '../../base/user-error.ts'
import type { ServerAddress } from '../../store/cluster/connection.ts'
import { UsageError } from '../command.ts'

/** The options that replace fields of the address. As in kubectl, `server` without `tlsServerName` removes that name. */
export interface AddressOptions {
  server?: string | undefined
  /** PEM. */
  ca?: string | undefined
  tlsServerName?: string | undefined
}

/** A cluster of a kubeconfig, with the keys of its file format. */
export interface ClusterEntry {
  server: string
  'certificate-authority-data'?: string
  'insecure-skip-tls-verify'?: true
  'tls-server-name'?: string
  'proxy-url'?: string
}

export interface ClusterPlan {
  entry: ClusterEntry
  /** What may not work, each with its remedy. */
  warnings: string[]
}

const EXAMPLE = 'https://karmada-apiserver.karmada-system.svc:5443'

/**
 * Returns the cluster entry of an address. `isForPods`: pods of the host cluster use it, not this machine.
 * Throws `UserError` for an address at which no credentials may be used, or that has credentials of the administrator.
 */
export function planCluster(address: ServerAddress, options: AddressOptions, isForPods: boolean): ClusterPlan {
  const server = options.server === undefined ? ownServer(address.server) : givenServer(options.server)
  const ca = options.ca ?? address.ca
  const isUnverified = options.ca === undefined ? address.isUnverified : undefined
  const tlsServerName = options.tlsServerName ?? (options.server === undefined ? address.tlsServerName : undefined)
  // Another address need not be behind the proxy of the administrator.
  const proxyUrl = options.server === undefined ? address.proxyUrl : undefined
  if (proxyUrl !== undefined) checkProxy(proxyUrl)
  const fault = isForPods ? localHostFault(new URL(server).hostname, []) : undefined
  return {
    entry: {
      server,
      ...defined({
        'certificate-authority-data': ca === undefined ? undefined : Buffer.from(ca).toString('base64'),
        'insecure-skip-tls-verify': isUnverified,
        'tls-server-name': tlsServerName,
        'proxy-url': proxyUrl,
      }),
    },
    warnings: [
      ...(fault ? [`${server}: ${fault}, which pods do not reach; give --server URL, e.g. ${EXAMPLE}`] : []),
      ...(isUnverified
        ? ['insecure-skip-tls-verify: the certificate of the server is not verified; give --certificate-authority FILE']
        : []),
      ...(proxyUrl !== undefined && isForPods
        ? [`proxy-url: pods must reach the proxy ${proxyUrl}; give --server URL for an address without it`]
        : []),
    ],
  }
}

/** The address of the administrator, without a user and a query. */
function ownServer(server: string): string {
  const { protocol, origin, pathname } = new URL(server)
  if (protocol !== 'https:') {
    throw new UserError(`the address ${origin} is not https, so that no token may be sent to it; give --server URL`)
  }
  return origin + pathname.replace(/\/$/, '')
}

function givenServer(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'https:' || url.username || url.password || url.search || url.hash) {
    throw new UsageError(`--server takes an https URL without user or query, e.g. ${EXAMPLE}, not ${text}`)
  }
  return url.origin + url.pathname.replace(/\/$/, '')
}

function checkProxy(proxyUrl: string): void {
  const { username, password } = new URL(proxyUrl)
  if (username === '' && password === '') return
  throw new UserError(
    'proxy-url of the kubeconfig has a user, whose password would be copied; give --server URL for an address without the proxy',
  )
}
