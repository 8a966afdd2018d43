/** Selects the API server of a command as kubectl does, and connects to it. */
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { ApiConnection, RequestObserver } from '../../store/cluster/api-connection.ts'
import { type ConnectionSource, openConnection } from '../../store/cluster/connection.ts'
import { probeServer } from '../../store/cluster/probe.ts'
import { type Arguments, type CommandIo, UsageError } from '../command.ts'

/** The options of every command that contacts an API server. */
export const CONNECTION_OPTIONS = connectionOptions(
  'Kubeconfig of the API server (default: $KUBECONFIG, then in-cluster, then ~/.kube/config)',
)

/** Returns the options of a connection with these descriptions. */
export function connectionOptions(
  kubeconfig: string,
  context = 'Context of the kubeconfig (default: the current one)',
) {
  return {
    kubeconfig: { type: 'string', value: 'FILE', description: kubeconfig },
    context: { type: 'string', value: 'NAME', description: context },
  } as const
}

/** Throws `UsageError` if a folder is given together with an API server. */
export function checkFolderAlone(args: Arguments): void {
  for (const option of Object.keys(CONNECTION_OPTIONS)) {
    if (args.text('folder') !== undefined && args.text(option) !== undefined) {
      throw new UsageError(`--folder and --${option} exclude each other: a folder is used without a cluster`)
    }
  }
}

const TOKEN_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/token'

export interface SourceRules {
  /** Whether ~/.kube/config is used if nothing else is given. A server must not serve a cluster by accident. */
  usesHome: boolean
  /** The file whose presence shows that the pod has a ServiceAccount. */
  tokenFile?: string
}

/**
 * Returns the first source that is given: `--kubeconfig`, `$KUBECONFIG` (several files are merged), the ServiceAccount of the pod,
 * `~/.kube/config`. Throws `UsageError` if there is none.
 */
export function selectConnection(
  args: Arguments,
  { env }: Pick<CommandIo, 'env'>,
  { usesHome, tokenFile = TOKEN_FILE }: SourceRules,
): ConnectionSource {
  const context = args.text('context')
  const inContext = context === undefined ? {} : { context }
  const flag = args.text('kubeconfig')
  if (flag !== undefined) return { kubeconfig: flag, ...inContext }

  const listed = (env['KUBECONFIG'] ?? '').split(delimiter).filter((file) => file !== '')
  if (listed.length > 0) return { kubeconfig: listed, ...inContext }

  const pod = podProblem(env, tokenFile)
  if (pod === undefined && context === undefined) return { inCluster: true }

  const home = usesHome ? homeFile(env) : undefined
  if (home !== undefined && existsSync(home)) return { kubeconfig: home, ...inContext }
  const tried = [
    '$KUBECONFIG is not set',
    pod ?? '--context needs a kubeconfig, and the account of the pod has none',
    ...(usesHome ? [home === undefined ? '$HOME is not set' : `${home} does not exist`] : []),
  ]
  throw new UsageError(`no API server is given: ${tried.join(', ')}; give --kubeconfig FILE`)
}

/** Why the ServiceAccount of the pod cannot be used; undefined if it can. As in client-go, a pod has both variables and a token. */
function podProblem(env: CommandIo['env'], tokenFile: string): string | undefined {
  if (!env['KUBERNETES_SERVICE_HOST'] || !env['KUBERNETES_SERVICE_PORT']) return 'the command does not run in a pod'
  return existsSync(tokenFile) ? undefined : `the pod has no ServiceAccount token (${tokenFile})`
}

function homeFile(env: CommandIo['env']): string | undefined {
  const home = env['HOME'] ?? env['USERPROFILE']
  return home ? join(home, '.kube', 'config') : undefined
}

/** Later than the time in which an API server must respond, so that only a credential plugin can be waited for. */
const NOTICE_MS = 4_500
const WAITING = 'waiting for the credential plugin of the kubeconfig; finish its login, or press Ctrl-C'

/**
 * Connects to the API server of the arguments and checks that it responds. The caller closes the connection.
 * Throws `UsageError`, `ConnectionConfigError`, or `UnreachableError` within five seconds, or within a minute for a credential plugin.
 */
export async function connect(args: Arguments, io: CommandIo): Promise<ApiConnection> {
  const connection = await openConnection(selectConnection(args, io, { usesHome: true }))
  const notice = setTimeout(() => io.stderr.write(`lodestone: ${WAITING}\n`), NOTICE_MS)
  try {
    await probeServer(connection, io.signal)
    return connection
  } catch (error) {
    await connection.close()
    throw error
  } finally {
    clearTimeout(notice)
  }
}

/**
 * Opens a connection to the cluster of the pod of this process, which has the Lease of Lodestone if it serves another API server. Returns
 * undefined outside of a pod, and if the source is that cluster.
 */
export async function openHostConnection(
  source: ConnectionSource,
  { env }: Pick<CommandIo, 'env'>,
  observe?: RequestObserver,
): Promise<ApiConnection | undefined> {
  const isOther = podProblem(env, TOKEN_FILE) === undefined && !('inCluster' in source)
  return isOther ? openConnection({ inCluster: true }, observe) : undefined
}
