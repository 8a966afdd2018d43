/** `lodestone kubeconfig`: prints a kubeconfig with a token of Lodestone, also as the Secret of a host cluster. */
import { realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { secrets } from '../../api/dependencies.ts'
import type { K8sObject } from '../../api/meta.ts'
import { namespaces } from '../../api/namespace.ts'
import { PAGE_ACCOUNT } from '../../app/roles/page-roles.ts'
import { LODESTONE } from '../../app/roles/rbac.ts'
import { describeFileError } from '../../base/file-error.ts'
import { type ConnectionSource, serverAddress } from '../../store/cluster/connection.ts'
import { servesPolicies } from '../../store/cluster/server-info.ts'
import { type Arguments, type Command, type CommandIo, UsageError } from '../command.ts'
import { connect, connectionOptions, selectConnection } from '../options/connect.ts'
import { givenNamespace, namespaceOption } from '../options/namespace.ts'
import { readCaFile, readDuration } from '../options/read-values.ts'
import { readServiceAccount, SERVICE_ACCOUNT_OPTION, type ServiceAccountName } from '../options/service-account.ts'
import { outputOption, readFormat, renderYaml } from '../output.ts'
import { notHub } from '../read-failure.ts'
import { type ClusterEntry, planCluster } from './cluster.ts'
import { requestToken } from './token.ts'

const FORMATS = ['kubeconfig', 'secret'] as const
/** The Secret that the chart mounts in mode `hub`. */
const SECRET = { name: 'lodestone-hub', key: 'kubeconfig' }
const DEFAULT_DURATION = '720h'

export const kubeconfig: Command = {
  usage: '[--kubeconfig FILE] [--context NAME] [--duration DURATION] [--server URL] [-o kubeconfig|secret]',
  options: {
    ...connectionOptions(
      'Kubeconfig of an administrator of the hub (default: $KUBECONFIG, in-cluster, ~/.kube/config)',
    ),
    ...SERVICE_ACCOUNT_OPTION,
    duration: {
      type: 'string',
      value: 'DURATION',
      description: `How long the token is valid, if the API server allows it (default: ${DEFAULT_DURATION})`,
    },
    server: {
      type: 'string',
      value: 'URL',
      description: 'Address of the API server for Lodestone (default: that of the kubeconfig)',
    },
    'certificate-authority': {
      type: 'string',
      value: 'FILE',
      description: 'PEM file of the CA at that address (default: that of the kubeconfig)',
    },
    'tls-server-name': {
      type: 'string',
      value: 'NAME',
      description: 'Name in the certificate at that address (default: that of the kubeconfig, without --server)',
    },
    ...outputOption(FORMATS, `kubeconfig (default), or secret: Namespace and Secret ${SECRET.name} for kubectl apply`),
    ...namespaceOption(`Namespace of the Secret (default: ${LODESTONE.namespace})`),
    'output-file': {
      type: 'string',
      value: 'FILE',
      description: 'Write into this file instead, which only its owner may read',
    },
  },
  examples: [
    {
      command: 'lodestone kubeconfig --context hub -o secret | kubectl --context host apply --server-side -f -',
      does: 'Create or renew the Secret of the pods in the host cluster',
    },
    {
      command:
        'lodestone kubeconfig --context hub -o secret --server https://karmada-apiserver.karmada-system.svc:5443',
      does: 'The same, if pods reach the API server at another address',
    },
    {
      command: 'lodestone kubeconfig --context hub --service-account lodestone-system/lodestone-page -o secret',
      does: 'The Secret of a page in the host cluster',
    },
    {
      command: 'lodestone kubeconfig --kubeconfig hub.config --output-file lodestone.config',
      does: 'Create or renew the kubeconfig of a process',
    },
  ],
  run: printKubeconfig,
}

async function printKubeconfig(args: Arguments, io: CommandIo): Promise<number> {
  const isSecret = readFormat(args, FORMATS) === 'secret'
  const namespace = givenNamespace(args) ?? LODESTONE.namespace
  if (!isSecret && args.text('namespace') !== undefined) {
    throw new UsageError('-n is the namespace of the Secret; add -o secret, or omit it')
  }
  const durationMs = readTokenDuration(args.text('duration') ?? DEFAULT_DURATION)
  const account = readServiceAccount(args)
  const caFile = args.text('certificate-authority')
  const options = {
    server: args.text('server'),
    ca: caFile && readCaFile('certificate-authority', caFile, 'name the CA of the API server'),
    tlsServerName: args.text('tls-server-name'),
  }
  const source = selectConnection(args, io, { usesHome: true })
  const file = args.text('output-file')
  if (file !== undefined) refuseSource(file, source)
  const { entry, warnings } = planCluster(await serverAddress(source), options, isSecret)

  const connection = await connect(args, io)
  try {
    // Pods of a host cluster serve a hub. Their own cluster, which may have a ServiceAccount of this name too, needs no Secret.
    if (isSecret && !(await servesPolicies(connection, io.signal))) throw notHub(connection.server)
    const { token, endsAt, durationMs: grantedMs } = await requestToken(connection, account, durationMs, io.signal)
    const text = renderYaml(kubeconfigOf(entry, token))
    const output = isSecret
      ? secretManifest({ namespace, name: secretName(account) }, text)
          .map(renderYaml)
          .join('---\n')
      : text
    if (file === undefined) io.stdout.write(output)
    else writePrivate(file, output)
    const granted = formatDuration(grantedMs)
    const less = grantedMs < durationMs ? `; the API server granted ${granted} of ${formatDuration(durationMs)}` : ''
    say(io, `the token of ${account.namespace}/${account.name} ends at ${endsAt}, in ${granted}${less}`)
    for (const warning of warnings) say(io, `warning: ${warning}`)
    return 0
  } finally {
    await connection.close()
  }
}

function say(io: CommandIo, message: string): void {
  io.stderr.write(`lodestone kubeconfig: ${message}\n`)
}

/** The least of kube-apiserver, and ten years. */
const DURATION_LIMITS = { minMs: 600_000, maxMs: 87_600 * 3_600_000 }

function readTokenDuration(text: string): number {
  const ms = readDuration('duration', text)
  if (ms >= DURATION_LIMITS.minMs && ms <= DURATION_LIMITS.maxMs) return ms
  throw new UsageError(`--duration takes a duration from 10m to 87600h, not ${text}`)
}

/** Throws if the output would replace the kubeconfig of the administrator. */
function refuseSource(file: string, source: ConnectionSource): void {
  const sources = 'inCluster' in source ? [] : [source.kubeconfig].flat()
  const path = realPath(file)
  if (path === undefined || !sources.some((one) => realPath(one) === path)) return
  throw new UsageError(`--output-file ${file}: has the credentials that the command uses; choose another file`)
}

/** The path behind links; undefined for a missing file. */
function realPath(file: string): string | undefined {
  try {
    return realpathSync(file)
  } catch {
    return undefined
  }
}

function kubeconfigOf(cluster: ClusterEntry, token: string): object {
  const { name } = LODESTONE
  return {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    clusters: [{ name, cluster }],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
  }
}

/** The page in a cluster has a Secret of its own. */
function secretName({ name }: ServiceAccountName): string {
  return name === PAGE_ACCOUNT.name ? PAGE_ACCOUNT.name : SECRET.name
}

function secretManifest({ namespace, name }: ServiceAccountName, text: string): (K8sObject & { data?: object })[] {
  const labels = { 'app.kubernetes.io/name': LODESTONE.name }
  return [
    { apiVersion: 'v1', kind: namespaces.kind, metadata: { name: namespace } },
    {
      apiVersion: 'v1',
      kind: secrets.kind,
      metadata: { name, namespace, labels },
      data: { [SECRET.key]: Buffer.from(text).toString('base64') },
    },
  ]
}

/** Replaces a file at once, as a server may read it, with rights for its owner alone. A pipe or a device is written in place. */
function writePrivate(file: string, text: string): void {
  const target = realPath(file) ?? file
  const temporary = `${target}.${process.pid}.tmp`
  try {
    const found = statSync(file, { throwIfNoEntry: false })
    if (found && !found.isFile()) {
      writeFileSync(file, text)
    } else {
      writeFileSync(temporary, text, { mode: 0o600, flag: 'wx' })
      renameSync(temporary, target)
    }
  } catch (cause) {
    rmSync(temporary, { force: true })
    throw new UsageError(`--output-file ${file} cannot be written: ${describeFileError(cause)}`, { cause })
  }
}

/** Formats milliseconds as Go does, without zeros: `720h`, `1h30m`, `90m` is `1h30m`. */
function formatDuration(ms: number): string {
  const seconds = Math.round(ms / 1000)
  const parts = { h: Math.floor(seconds / 3600), m: Math.floor(seconds / 60) % 60, s: seconds % 60 }
  const text = Object.entries(parts).map(([unit, n]) => (n > 0 ? `${n}${unit}` : ''))
  return text.join('') || '0s'
}
