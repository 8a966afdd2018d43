/** Connects to an API server with a kubeconfig file or the service account of the pod, and supports client-node's plugins. */
import { readFileSync } from 'node:fs'
import type { RequestOptions } from 'node:https'
import { dirname, resolve } from 'node:path'
import { KubeConfig } from '@kubernetes/client-node'
import { parse } from 'yaml'
import { UserError } from '../../core/user-error.ts'
import { type ApiConnection, type Credentials, createConnection } from './api-connection.ts'

export type ConnectionSource =
  /** A kubeconfig file; `context` overrides its current context. */
  | { kubeconfig: string; context?: string }
  /** The service account of the pod; `root` is a prefix of its paths. */
  | { inCluster: true; root?: string }

/** An invalid kubeconfig or service account. The message names the file. */
class ConnectionConfigError extends UserError {
  override name = 'ConnectionConfigError'
}

/** How often files are read again. A projected token changes hourly, and a mounted kubeconfig when it is rotated. */
const CREDENTIALS_TTL_MS = 10_000
const ANONYMOUS = '(anonymous)'

/**
 * Opens a connection without sending a request. Credentials (files, tokens, exec and auth-provider plugins) are read again every ten
 * seconds, and after HTTP 401. Throws `ConnectionConfigError` when the source cannot be used.
 */
export function openConnection(source: ConnectionSource): ApiConnection {
  let text = readSource(source)
  let config = loadConfig(source, text)
  let remembered: { credentials: Promise<Credentials>; readAt: number; value?: Credentials } | undefined

  function reload(force: boolean): void {
    try {
      const now = readSource(source)
      // The plugins keep their cache as long as the configuration object is the same: an exec plugin does not run every ten seconds.
      if (now === text && !force) return
      config = loadConfig(source, now)
      text = now
    } catch (error) {
      // A file that is being replaced may be missing or incomplete for a moment. The last valid configuration stays.
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
          // Failures are not cached: the next request calls the plugin again.
          if (remembered === own) remembered = undefined
        },
      )
      return own.credentials
    },
    forget(rejected) {
      // Of several concurrent requests that got 401, only the first one drops the credentials.
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

/** Adds the `tokenFile` of users, which kubectl supports and client-node ignores. client-node's file plugin reads it. */
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
    // Without a user, client-node would ignore the CA of the cluster too.
    config.users = [...config.users, { name: ANONYMOUS }]
    config.contexts = config.contexts.map((other) => (other === context ? { ...context, user: ANONYMOUS } : other))
  }
  if (config.getCurrentUser() === null) {
    throw new ConnectionConfigError(`kubeconfig ${file}: context ${name} names user ${context.user}, which is missing`)
  }
  if (!URL.canParse(cluster.server) || !/^https?:/.test(cluster.server)) {
    throw new ConnectionConfigError(
      `kubeconfig ${file}: ${cluster.server} of cluster ${cluster.name} is not an http or https URL`,
    )
  }
}

async function readCredentials(config: KubeConfig): Promise<Credentials> {
  const cluster = config.getCurrentCluster()
  const proxyUrl = cluster?.proxyUrl
  const proxy = proxyUrl ? { proxyUrl } : {}
  // Like kubectl, sends no credentials over plain HTTP.
  if (cluster === null || cluster.server.startsWith('http:')) return { headers: {}, transport: { tls: {}, ...proxy } }
  const options: RequestOptions = { headers: {} }
  await config.applyToHTTPSOptions(options)
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    // Token files often end with a newline, which a header must not contain.
    if (value !== undefined) headers[name.toLowerCase()] = String(value).trim()
  }
  if (options.auth) headers['authorization'] = `Basic ${Buffer.from(options.auth).toString('base64')}`
  const { ca, cert, key, rejectUnauthorized, servername } = options as Credentials['transport']['tls']
  const tls = {
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
    ...(servername && { servername }),
    // client-node sets it only for an insecure kubeconfig. Without it, the environment of Node would decide.
    rejectUnauthorized: rejectUnauthorized ?? true,
  }
  return { headers, transport: { tls, ...proxy } }
}
