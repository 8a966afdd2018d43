/** Connects to an API server with kubeconfig files or the service account of the pod, and supports client-node's plugins. */
import type { RequestOptions } from 'node:https'
import { isDeepStrictEqual } from 'node:util'
import type { Cluster, KubeConfig, User } from '@kubernetes/client-node'
import { firstCharacters } from '../../base/first-characters.ts'
import { defined } from '../../base/json.ts'
import { certificateProblem } from '../../base/net/certificate-text.ts'
import { serverName } from '../../base/net/server-name.ts'
import { printable } from '../../base/printable.ts'
import type { ApiConnection, Credentials, RequestObserver } from './api-connection.ts'
import { CredentialsError } from './api-error.ts'
import type { ConnectionSource } from './kubeconfig.ts'

export type { ConnectionSource } from './kubeconfig.ts'

/** Loads client-node, which has 900 modules with its dependencies: most commands read a folder, and need no connection. */
const loadClient = () => import('./kubeconfig.ts')

/** How often files are read again. A projected token changes hourly, and a mounted kubeconfig when it is rotated. */
const CREDENTIALS_TTL_MS = 10_000
/** A plugin that runs for longer may hang for ever, so it is started again. Before, it may wait for the user to log in. */
const PLUGIN_MS = 300_000

/**
 * Opens a connection to one API server without sending a request. Credentials (files, tokens, exec and auth-provider plugins) are read again
 * every ten seconds, and after HTTP 401. Throws `ConnectionConfigError` when the source cannot be used.
 */
export async function openConnection(source: ConnectionSource, observe?: RequestObserver): Promise<ApiConnection> {
  const { ConnectionConfigError, loadConfig, readImpersonation, readSource } = await loadClient()
  const { createConnection } = await import('./api-connection.ts')
  let files = readSource(source)
  let config = loadConfig(source, files)
  const { server = '' } = config.getCurrentCluster() ?? {}
  const context = config.getCurrentContext()
  let problem: string | undefined
  let remembered: { credentials: Promise<Credentials>; readAt: number; value?: Credentials } | undefined

  /** Loads the context of the start, also if `kubectl config use-context` has chosen another one since. A replaced file may not have it. */
  function loadContext(read: typeof files): KubeConfig {
    if ('inCluster' in source) return loadConfig(source, read)
    try {
      return loadConfig({ ...source, context }, read)
    } catch (error) {
      if (!(error instanceof ConnectionConfigError)) throw error
      return loadConfig(source, read)
    }
  }

  function reload(force: boolean): void {
    try {
      const now = readSource(source)
      problem = undefined
      // The plugins keep their cache as long as the configuration object is the same: an exec plugin does not run every ten seconds.
      if (isDeepStrictEqual(now, files) && !force) return
      const next = loadContext(now)
      const named = next.getCurrentCluster()?.server
      if (named === server) {
        config = next
        files = now
        return
      }
      // The credentials of another API server must not be sent to this one.
      problem = `the kubeconfig names the API server ${named} instead of ${server}; restart Lodestone to use it`
      if (force) config = loadContext(files)
    } catch (error) {
      // A file that is being replaced may be missing or incomplete for a moment. The last valid configuration stays.
      if (!(error instanceof ConnectionConfigError)) throw error
      problem = `${error.message}; the last valid one stays in use`
    }
  }

  return createConnection(
    {
      server,
      read() {
        // A plugin that hangs is awaited, and not started again by each further request.
        const usableMs = remembered?.value === undefined ? PLUGIN_MS : CREDENTIALS_TTL_MS
        if (remembered && performance.now() - remembered.readAt < usableMs) return remembered.credentials
        reload(false)
        const own: typeof remembered = {
          credentials: readCredentials(config, readImpersonation(config, files)),
          readAt: performance.now(),
        }
        remembered = own
        own.credentials.then(
          (value) => {
            own.value = value
          },
          () => {
            // Failures are not cached, also by the configuration object: the next request calls the plugin again.
            if (remembered !== own) return
            remembered = undefined
            reload(true)
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
      problem: () => problem,
    },
    observe,
  )
}

/** Returns the namespace of the context, or of the service account of the pod. Throws `ConnectionConfigError`. */
export async function connectionNamespace(source: ConnectionSource): Promise<string | undefined> {
  const { loadConfig, readSource } = await loadClient()
  const config = loadConfig(source, readSource(source))
  return config.getContextObject(config.getCurrentContext())?.namespace?.trim() || undefined
}

/** An API server, and how its certificate is verified: a kubeconfig without the credentials of its user. */
export interface ServerAddress {
  server: string
  /** PEM. Without it, the CAs of Node.js are trusted. */
  ca?: string
  isUnverified?: true
  tlsServerName?: string
  proxyUrl?: string
}

/** Returns the address of the context. Throws `ConnectionConfigError`. */
export async function serverAddress(source: ConnectionSource): Promise<ServerAddress> {
  const { loadConfig, readAuthority, readSource } = await loadClient()
  const cluster = loadConfig(source, readSource(source)).getCurrentCluster()
  const { server = '', skipTLSVerify, tlsServerName, proxyUrl } = cluster ?? {}
  return {
    server,
    ...defined({
      ca: cluster && !skipTLSVerify ? readAuthority(cluster) : undefined,
      isUnverified: skipTLSVerify ? (true as const) : undefined,
      tlsServerName: tlsServerName || undefined,
      proxyUrl: proxyUrl || undefined,
    }),
  }
}

/** Returns the names of the contexts of kubeconfig files; none for the service account of the pod. Throws `ConnectionConfigError`. */
export async function contextNames(source: ConnectionSource): Promise<string[]> {
  if ('inCluster' in source) return []
  const { loadConfig, readSource } = await loadClient()
  const { kubeconfig } = source
  return loadConfig({ kubeconfig }, readSource(source)).contexts.map(({ name }) => name)
}

function credentialsError(config: KubeConfig, error: NodeJS.ErrnoException): CredentialsError {
  const exec = config.getCurrentUser()?.exec as { command?: string; installHint?: unknown } | undefined
  const { code, syscall = '', path, message } = error
  const isMissing = code === 'ENOENT'
  let problem = firstCharacters(message.trim(), MAX_PLUGIN_MESSAGE)
  if (isMissing)
    problem = syscall.startsWith('spawn') ? `it is not on the PATH${installHint(exec)}` : `${path} does not exist`
  // The message of a parser may quote the token of an auth-provider.
  if (error instanceof SyntaxError) problem = exec ? 'it did not print JSON' : 'its token cannot be read'
  // client-node reads the status without a check.
  if (exec && error instanceof TypeError) problem = NO_CREDENTIALS
  const subject = syscall === 'open' ? '' : credentialSubject(exec, config.getCurrentUser())
  return new CredentialsError(printable(`${subject}${problem || 'it failed'}`), { cause: error })
}

/** Returns how to install a missing plugin, if the kubeconfig says it. kubectl prints it too. */
function installHint({ installHint: hint }: { installHint?: unknown } = {}): string {
  const text = typeof hint === 'string' ? hint.trim() : ''
  return text === '' ? '' : `: ${firstCharacters(text, MAX_PLUGIN_MESSAGE)}`
}

/** What gives the credentials of a user, for the begin of a message. */
function credentialSubject(exec: { command?: string } | undefined, user: User | null): string {
  if (exec) return `credential plugin ${exec.command}: `
  const { name, config } = (user?.authProvider ?? {}) as { name?: string; config?: { tokenFile?: string } }
  // client-node reads a file of a token as a provider too.
  if (config?.tokenFile) return `token file ${config.tokenFile}: `
  return name === undefined ? '' : `auth-provider ${name} of user ${user?.name}: `
}

/** The most characters of what a plugin wrote to its standard error: each retry logs them. */
const MAX_PLUGIN_MESSAGE = 1000
const NO_CREDENTIALS = 'it printed neither a token nor a client certificate'
const NO_TOKEN = 'it gives no valid token'
/** The header of an empty file, after its spaces were removed. */
const EMPTY_TOKEN = /^(Bearer)?$/

/** Returns why the certificate of a user cannot be used. OpenSSL says neither whose it is nor whether it is the key. */
function clientCertificateFault(
  { name, certFile, keyFile }: User,
  cert: string | Buffer | undefined,
  key: string | Buffer | undefined,
): string | undefined {
  if (!cert) return undefined
  const problem = certificateProblem(String(cert))
  if (problem !== undefined) return `client-certificate of user ${name}: ${certFile ?? 'its data'} ${problem}`
  if (!key) return `client-key of user ${name} is missing, which belongs to its client-certificate`
  if (PRIVATE_KEY.test(String(key))) return undefined
  return `client-key of user ${name}: ${keyFile ?? 'its data'} has no private key in PEM form`
}

const PRIVATE_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----/

async function readCredentials(
  config: KubeConfig,
  impersonation: NonNullable<Credentials['impersonation']>,
): Promise<Credentials> {
  const cluster = config.getCurrentCluster()
  const proxyUrl = cluster?.proxyUrl
  const proxy = proxyUrl ? { proxyUrl } : {}
  // Like kubectl, sends no credentials over plain HTTP.
  if (cluster === null || cluster.server.startsWith('http:')) return { headers: {}, transport: { tls: {}, ...proxy } }
  const options: RequestOptions = { headers: {} }
  try {
    await config.applyToHTTPSOptions(options)
  } catch (error) {
    throw credentialsError(config, error as NodeJS.ErrnoException)
  }
  const headers = readHeaders(options)
  const { exec, authProvider } = config.getCurrentUser() ?? {}
  // As in client-go. Without a check, the requests would be anonymous.
  const { authorization = '' } = headers
  if (exec && authorization === '' && !options.cert) throw credentialsError(config, new Error(NO_CREDENTIALS))
  if (authProvider && EMPTY_TOKEN.test(authorization)) throw credentialsError(config, new Error(NO_TOKEN))
  const tls = readTls(options as Tls, cluster, config.getCurrentUser() ?? undefined)
  return { headers, impersonation, transport: { tls, ...proxy }, isRenewed: Boolean(exec ?? authProvider) }
}

type Tls = Credentials['transport']['tls']

function readHeaders({ headers: given = {}, auth }: RequestOptions): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(given)) {
    // Token files often end with a newline, which a header must not contain.
    if (value !== undefined) headers[name.toLowerCase()] = String(value).trim()
  }
  if (auth) headers['authorization'] = `Basic ${Buffer.from(auth).toString('base64')}`
  return headers
}

/** Throws a CredentialsError for certificates that cannot be used. */
function readTls({ ca, cert, key, rejectUnauthorized, servername }: Tls, cluster: Cluster, user?: User): Tls {
  const problem = ca && !cluster.skipTLSVerify ? certificateProblem(String(ca)) : undefined
  if (problem !== undefined)
    throw new CredentialsError(
      `certificate-authority of cluster ${cluster.name}: ${cluster.caFile ?? 'its data'} ${problem}`,
    )
  // A plugin brings its own certificate.
  const fault = user && !user.exec ? clientCertificateFault(user, cert, key) : undefined
  if (fault !== undefined) throw new CredentialsError(fault)
  return defined({
    ca: ca || undefined,
    cert: cert || undefined,
    key: key || undefined,
    servername: servername || serverName(new URL(cluster.server).hostname),
    // client-node sets it only for an insecure kubeconfig. Without it, the environment of Node would decide.
    rejectUnauthorized: rejectUnauthorized ?? true,
  })
}
