/** Completes the credential plugin of a kubeconfig, as client-go does and client-node does not. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { defined, isObject } from '../../base/json.ts'

/** The `exec` of a user (k8s.io/client-go/tools/clientcmd/api/v1, ExecConfig). */
export interface ExecConfig {
  apiVersion?: string
  command?: string
  env?: { name: string; value: string }[]
  provideClusterInfo?: boolean
}

/** What a plugin learns about its cluster (client.authentication.k8s.io/v1, Cluster). */
interface PluginCluster {
  server: string
  tlsServerName?: string | undefined
  skipTLSVerify: boolean
  proxyUrl?: string | undefined
  /** The CA as PEM. */
  authority: string | undefined
  extensions: readonly { name?: string; extension?: unknown }[] | undefined
}

/** Plugins read it for the version that they have to answer in. Those of Gardener and STACKIT fail without it. */
const EXEC_INFO = 'KUBERNETES_EXEC_INFO'
/** The reserved name of the extension of a cluster that is for plugins. */
const EXTENSION = 'client.authentication.k8s.io/exec'

/** Returns the plugin of a user; undefined without one. */
export function execOf({ exec }: { exec?: unknown }): ExecConfig | undefined {
  return isObject(exec) ? exec : undefined
}

/** Makes a command with a slash relative to the folder of its kubeconfig. The system finds other commands on the PATH. */
export function resolveCommand(exec: ExecConfig, directory: string): ExecConfig {
  return exec.command?.includes('/') ? { ...exec, command: resolve(directory, exec.command) } : exec
}

/** Returns the plugin with its version in its environment, and with the cluster if it asks for that. */
export function withExecInfo(exec: ExecConfig, readCluster: () => PluginCluster): ExecConfig {
  const { apiVersion, provideClusterInfo, env = [] } = exec
  const spec = defined({
    // The standard input of the plugin is not that of Lodestone.
    interactive: false,
    cluster: provideClusterInfo ? clusterInfo(readCluster()) : undefined,
  })
  const value = JSON.stringify({ kind: 'ExecCredential', apiVersion, spec })
  return { ...exec, env: [...env.filter(({ name }) => name !== EXEC_INFO), { name: EXEC_INFO, value }] }
}

function clusterInfo({ server, tlsServerName, skipTLSVerify, proxyUrl, authority, extensions }: PluginCluster): object {
  return defined({
    server,
    'tls-server-name': tlsServerName || undefined,
    'insecure-skip-tls-verify': skipTLSVerify || undefined,
    'certificate-authority-data': authority && Buffer.from(authority).toString('base64'),
    'proxy-url': proxyUrl || undefined,
    config: extensions?.find(({ name }) => name === EXTENSION)?.extension,
  })
}

/**
 * Starts a plugin. As in client-go, its standard input is empty: a plugin that reads it ends. A user at a terminal reads what it says, such as
 * the code of a login. Throws if the process has too many open files: Node.js makes no streams then, and client-node expects them.
 *
 * @param screen the standard error of this process
 */
export function startPlugin(
  command: string,
  args: readonly string[] = [],
  options: SpawnOptions = {},
  screen: Pick<NodeJS.WriteStream, 'isTTY' | 'write'> = process.stderr,
): ChildProcess {
  const plugin = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  if (plugin.stdout) {
    // In a log, only the words of a plugin that fails are of use, and its error has them.
    if (screen.isTTY) plugin.stderr?.on('data', (words) => screen.write(words))
    return plugin
  }
  // The event follows. Without a listener, it would end the process.
  plugin.on('error', () => undefined)
  throw new Error('it cannot be started, since this process has too many open files; raise the limit (ulimit -n)')
}
