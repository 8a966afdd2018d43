/**
 * Loads the service account of a pod, or kubeconfig files. As in kubectl, several files are merged, and the first one that defines a name
 * wins.
 */
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, dirname, resolve } from 'node:path'
import { type Cluster, KubeConfig } from '@kubernetes/client-node'
import { parse, parseDocument } from 'yaml'
import { describeFileError } from '../../base/file-error.ts'
import { without } from '../../base/json.ts'
import { UserError } from '../../base/user-error.ts'
import { execOf, resolveCommand, startPlugin, withExecInfo } from './credential-plugin.ts'
import { type ImpersonatedUser, impersonationHeaders, lacksImpersonatedUser } from './impersonation.ts'

interface KubeconfigSource {
  /** A file; or the files of `$KUBECONFIG`, of which some may be missing. */
  kubeconfig: string | readonly string[]
  /** Overrides the current context. */
  context?: string
}

export type ConnectionSource =
  | KubeconfigSource
  /** The service account of the pod; `root` is a prefix of its paths. */
  | { inCluster: true; root?: string }

interface KubeconfigFile {
  file: string
  text: string
}

/** An invalid kubeconfig or service account. The message names the file. */
export class ConnectionConfigError extends UserError {
  override name = 'ConnectionConfigError'
}

const ANONYMOUS = '(anonymous)'

/** Reads the files of a source; none for a service account. Throws `ConnectionConfigError` if no file exists. */
export function readSource(source: ConnectionSource): KubeconfigFile[] {
  if ('inCluster' in source) return []
  const { kubeconfig } = source
  const isList = typeof kubeconfig !== 'string'
  const files = (isList ? kubeconfig : [kubeconfig]).flatMap((file) => readFile(file, isList))
  if (files.length > 0) return files
  throw new ConnectionConfigError(`kubeconfig ${kubeconfigTitle(kubeconfig)}: no such file`)
}

function readFile(file: string, mayBeMissing: boolean): KubeconfigFile[] {
  try {
    return [{ file, text: readFileSync(file, 'utf8') }]
  } catch (error) {
    if (mayBeMissing && (error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw new ConnectionConfigError(`kubeconfig ${file}: ${describeFileError(error)}`, { cause: error })
  }
}

/** Loads the configuration from the files of its source, or from the service account of the pod. Throws `ConnectionConfigError`. */
export function loadConfig(source: ConnectionSource, files: readonly KubeconfigFile[]): KubeConfig {
  if (!('inCluster' in source)) {
    const title = kubeconfigTitle(files.map(({ file }) => file))
    return readable(title, () => mergeFiles(files, source.context))
  }
  if (!process.env['KUBERNETES_SERVICE_HOST'] || !process.env['KUBERNETES_SERVICE_PORT']) {
    throw new ConnectionConfigError(
      'not in a cluster: KUBERNETES_SERVICE_HOST and _PORT are not set; give a kubeconfig',
    )
  }
  const config = new KubeConfig()
  try {
    config.loadFromCluster(source.root ?? '')
  } catch (error) {
    throw new ConnectionConfigError(`ServiceAccount of the pod: ${describeFileError(error)}`, { cause: error })
  }
  return config
}

/** Returns the CA of a cluster as PEM. A file is used before data, as client-node does. Throws `ConnectionConfigError`. */
export function readAuthority({ name, caFile, caData }: Cluster): string | undefined {
  if (!caFile) return caData ? Buffer.from(caData, 'base64').toString() : undefined
  try {
    return readFileSync(caFile, 'utf8')
  } catch (error) {
    const reason = describeFileError(error)
    throw new ConnectionConfigError(`certificate-authority ${caFile} of cluster ${name}: ${reason}`, { cause: error })
  }
}

/** Returns the headers with which requests are those of another user than the current one; none if the kubeconfig names no other. */
export function readImpersonation(config: KubeConfig, files: readonly KubeconfigFile[]): Record<string, string[]> {
  return impersonationHeaders(rawUser(config, files))
}

/** Returns the fields of the current user as they are in the files. */
function rawUser(config: KubeConfig, files: readonly KubeconfigFile[]): ImpersonatedUser {
  const name = config.getCurrentUser()?.name
  const users = files.flatMap(({ text }) => (parse(text) as RawConfig | null)?.users ?? [])
  return users.find((each) => each.name === name)?.user ?? {}
}

/** Runs a function that reads files of users. A field of a wrong type causes errors of any class. Throws `ConnectionConfigError` alone. */
function readable<T>(title: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof ConnectionConfigError) throw error
    // The further lines of the YAML parser show the text, which may have credentials.
    const [reason = ''] = (error as Error).message.split('\n')
    throw new ConnectionConfigError(`kubeconfig ${title} cannot be read: ${reason}`, { cause: error })
  }
}

/** Merges the files and checks that the context can be used. */
function mergeFiles(files: readonly KubeconfigFile[], context: string | undefined): KubeConfig {
  const merged = new KubeConfig()
  for (const { file, text } of files) {
    const config = readable(file, () => parseFile(file, text))
    if (!merged.currentContext) merged.setCurrentContext(config.currentContext)
    merged.clusters = addMissing(merged.clusters, config.clusters)
    merged.contexts = addMissing(merged.contexts, config.contexts)
    merged.users = addMissing(merged.users, config.users)
  }
  if (context !== undefined) merged.setCurrentContext(context)
  const title = kubeconfigTitle(files.map(({ file }) => file))
  checkConfig(merged, title)
  if (lacksImpersonatedUser(rawUser(merged, files))) {
    const name = merged.getCurrentUser()?.name
    throw new ConnectionConfigError(
      `kubeconfig ${title}: user ${name} has as-uid, as-groups or as-user-extra without as; add as, or remove them`,
    )
  }
  completePlugin(merged, files)
  return merged
}

/** The parts of a kubeconfig that client-node does not keep. */
interface RawConfig {
  users?: { name: string; user?: { tokenFile?: string } & ImpersonatedUser }[]
  clusters?: { name?: string; cluster?: { extensions?: { name?: string; extension?: unknown }[] } }[]
}

/** Tells the credential plugin of the current user its version and cluster. */
function completePlugin(config: KubeConfig, files: readonly KubeconfigFile[]): void {
  const [cluster, user] = [config.getCurrentCluster(), config.getCurrentUser()]
  const exec = user && execOf(user)
  if (!cluster || !exec) return
  const completed = withExecInfo(exec, () => {
    const clusters = files.flatMap(({ text }) => (parse(text) as RawConfig).clusters ?? [])
    const extensions = clusters.find(({ name }) => name === cluster.name)?.cluster?.extensions
    return { ...cluster, authority: cluster.skipTLSVerify ? undefined : readAuthority(cluster), extensions }
  })
  config.users = config.users.map((each) => (each.name === user.name ? { ...each, exec: completed } : each))
  for (const authenticator of config['authenticators'])
    if ('execFn' in authenticator) authenticator.execFn = startPlugin
}

function parseFile(file: string, text: string): KubeConfig {
  const config = new KubeConfig()
  if (isEmptyDocument(text)) return config
  config.loadFromString(text)
  config.makePathsAbsolute(resolve(dirname(file)))
  addTokenFiles(config, text, dirname(file))
  config.users = config.users.map((user) => {
    const exec = execOf(user)
    return exec ? { ...user, exec: resolveCommand(exec, dirname(file)) } : user
  })
  return config
}

/** Whether a file defines nothing, as a new one. kubectl reads it as a kubeconfig without names (client-go, clientcmd.Load). */
function isEmptyDocument(text: string): boolean {
  const document = parseDocument(text)
  return document.errors.length === 0 && document.toJS() === null
}

function addMissing<T extends { name: string }>(known: readonly T[], others: readonly T[]): T[] {
  return [...known, ...others.filter(({ name }) => !known.some((first) => first.name === name))]
}

/**
 * Adds the `tokenFile` of users, which kubectl supports and client-node ignores. client-node's file plugin reads it. As in client-go, it is used
 * instead of a `token`, which was its content once (transport/round_trippers.go).
 */
function addTokenFiles(config: KubeConfig, text: string, directory: string): void {
  const { users } = parse(text) as RawConfig
  config.users = config.users.map((user) => {
    const tokenFile = users?.find((raw) => raw.name === user.name)?.user?.tokenFile
    if (tokenFile === undefined) return user
    const file = resolve(directory, tokenFile)
    if (user.token && !existsSync(file)) return user
    return { ...without(user, 'token'), authProvider: { name: 'tokenFile', config: { tokenFile: file } } }
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
  if (typeof (context.namespace ?? '') !== 'string') {
    throw new ConnectionConfigError(
      `kubeconfig ${file}: namespace ${context.namespace} of context ${name} is no text; write it in quotes`,
    )
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
  if (cluster.proxyUrl && !URL.canParse(cluster.proxyUrl)) {
    throw new ConnectionConfigError(`kubeconfig ${file}: proxy-url of cluster ${cluster.name} is not a URL`)
  }
}

function kubeconfigTitle(kubeconfig: KubeconfigSource['kubeconfig']): string {
  return typeof kubeconfig === 'string' ? kubeconfig : kubeconfig.join(delimiter)
}
