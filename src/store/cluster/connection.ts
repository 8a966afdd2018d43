/** Finds an API server and authenticates: from a kubeconfig file or a pod's service account, with client-node's plugins. */
import { readFileSync } from 'node:fs'
import type { RequestOptions } from 'node:https'
import { dirname, resolve } from 'node:path'
import { KubeConfig } from '@kubernetes/client-node'
import { parse } from 'yaml'
import { UserError } from '../../core/user-error.ts'
import { type ApiConnection, type Credentials, createConnection } from './api-connection.ts'

export type ConnectionSource =
  /** A kubeconfig file; `context` instead of its current one. */
  | { kubeconfig: string; context?: string }
  /** The pod's service account; `root` is put before its paths. */
  | { inCluster: true; root?: string }

/** A kubeconfig or service account that cannot be used; the message names the file. */
class ConnectionConfigError extends UserError {
  override name = 'ConnectionConfigError'
}

/** Files are read again this often: a projected token changes hourly, a mounted kubeconfig when it is rotated. */
const CREDENTIALS_TTL_MS = 10_000
const ANONYMOUS = '(anonymous)'

/**
 * Opens a connection; nothing is sent yet. Credentials (files, tokens, exec and auth-provider plugins) are read again every
 * ten seconds, and anew after an answer of 401. Throws `ConnectionConfigError` when the source cannot be used.
 */
export function openConnection(source: ConnectionSource): ApiConnection {
  let text = readSource(source)
  let config = loadConfig(source, text)
  let remembered: { credentials: Promise<Credentials>; readAt: number; value?: Credentials } | undefined

  function reload(force: boolean): void {
    try {
      const now = readSource(source)
      // The same configuration object keeps the memory of its plugins: an exec plugin is not run every ten seconds.
      if (now === text && !force) return
      config = loadConfig(source, now)
      text = now
    } catch (error) {
      // A file that is being replaced is missing or half written for a moment: the last good one goes on.
      if (!(error instanceof ConnectionConfigError)) throw error
    }
  }

  return createConnection({
    server: config.getCurrentCluster()?.server ?? '',
    read() {
      if (remembered !== undefined && performance.now() - remembered.readAt < CREDENTIALS_TTL_MS) {
        return remembered.credentials
      }
      reload(false)
      const own: typeof remembered = { credentials: readCredentials(config), readAt: performance.now() }
      remembered = own
      own.credentials.then(
        (value) => {
          own.value = value
        },
        () => {
          // A plugin that failed is asked again by the next request, and not remembered as failed.
          if (remembered === own) remembered = undefined
        },
      )
      return own.credentials
    },
    forget(rejected) {
      // Of many requests that were refused together only the first is news.
      if (remembered?.value !== rejected) return
      remembered = undefined
      reload(true)
    },
  })
}

function readSource(source: ConnectionSource): string {
  if ('inCluster' in source) return ''
  try {
    return readFileSync(source.kubeconfig, 'utf8')
  } catch (error) {
    throw new ConnectionConfigError(`kubeconfig ${source.kubeconfig}: ${(error as Error).message}`, { cause: error })
  }
}

function loadConfig(source: ConnectionSource, text: string): KubeConfig {
  const config = new KubeConfig()
  if ('inCluster' in source) {
    if (!process.env['KUBERNETES_SERVICE_HOST'] || !process.env['KUBERNETES_SERVICE_PORT']) {
      throw new ConnectionConfigError(
        'not in a cluster: KUBERNETES_SERVICE_HOST and _PORT are not set; give a kubeconfig',
      )
    }
    config.loadFromCluster(source.root ?? '')
    return config
  }
  const file = source.kubeconfig
  try {
    config.loadFromString(text)
    config.makePathsAbsolute(resolve(dirname(file)))
    addTokenFiles(config, text, dirname(file))
  } catch (error) {
    throw new ConnectionConfigError(`kubeconfig ${file} cannot be read: ${(error as Error).message}`, { cause: error })
  }
  if (source.context !== undefined) config.setCurrentContext(source.context)
  checkConfig(config, file)
  return config
}

/** client-node does not know the `tokenFile` of kubectl's kubeconfig; its file plugin does the reading. */
function addTokenFiles(config: KubeConfig, text: string, directory: string): void {
  const { users } = parse(text) as { users?: { name: string; user?: { tokenFile?: string } }[] }
  config.users = config.users.map((user) => {
    const tokenFile = users?.find((raw) => raw.name === user.name)?.user?.tokenFile
    if (tokenFile === undefined) return user
    return { ...user, authProvider: { name: 'tokenFile', config: { tokenFile: resolve(directory, tokenFile) } } }
  })
}

function checkConfig(config: KubeConfig, file: string): void {
  const name = config.getCurrentContext()
  if (!name) throw new ConnectionConfigError(`kubeconfig ${file} has no current-context, and no context was given`)
  const context = config.contexts.find((candidate) => candidate.name === name)
  if (context === undefined) {
    const known = config.contexts.map((candidate) => candidate.name).join(', ') || 'none'
    throw new ConnectionConfigError(`kubeconfig ${file} has no context ${name} (it has: ${known})`)
  }
  const cluster = config.getCurrentCluster()
  if (cluster === null) {
    throw new ConnectionConfigError(
      `kubeconfig ${file}: context ${name} names cluster ${context.cluster}, which is missing`,
    )
  }
  if (!context.user) {
    // Without a user client-node would leave out the cluster's CA as well.
    config.users = [...config.users, { name: ANONYMOUS }]
    config.contexts = config.contexts.map((other) => (other === context ? { ...context, user: ANONYMOUS } : other))
  }
  if (config.getCurrentUser() === null) {
    throw new ConnectionConfigError(`kubeconfig ${file}: context ${name} names user ${context.user}, which is missing`)
  }
  if (!URL.canParse(cluster.server) || !/^https?:/.test(cluster.server)) {
    throw new ConnectionConfigError(
      `kubeconfig ${file}: ${cluster.server} of cluster ${cluster.name} is no http or https URL`,
    )
  }
}

async function readCredentials(config: KubeConfig): Promise<Credentials> {
  const cluster = config.getCurrentCluster()
  const proxyUrl = cluster?.proxyUrl
  const proxy = proxyUrl ? { proxyUrl } : {}
  // As kubectl: no secret is sent over plain HTTP.
  if (cluster === null || cluster.server.startsWith('http:')) return { headers: {}, transport: { tls: {}, ...proxy } }
  const options: RequestOptions = { headers: {} }
  await config.applyToHTTPSOptions(options)
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    // A token file that ends with a line end is common, and a header must not.
    if (value !== undefined) headers[name.toLowerCase()] = String(value).trim()
  }
  if (options.auth) headers['authorization'] = `Basic ${Buffer.from(options.auth).toString('base64')}`
  const { ca, cert, key, rejectUnauthorized, servername } = options as Credentials['transport']['tls']
  const tls = {
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
    ...(servername && { servername }),
    // client-node leaves it out unless the kubeconfig says insecure; then Node's environment would decide.
    rejectUnauthorized: rejectUnauthorized ?? true,
  }
  return { headers, transport: { tls, ...proxy } }
}
