/** `lodestone ui`: serves the page on this machine, with the objects that the user may read. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { isIP } from 'node:net'
import { type Cluster, clusters } from '../../api/karmada.ts'
import { type Pod, pods } from '../../api/pod.ts'
import { placementTiming } from '../../app/config/placement-config.ts'
import { type SystemsConfig, systemsSource } from '../../app/config/systems-config.ts'
import { configuredWorkloadKinds } from '../../app/config/workload-kinds-config.ts'
import { defined } from '../../base/json.ts'
import { aborted, systemClock } from '../../base/time/clock.ts'
import { readPodUse } from '../../core/volume-manager/pod-use.ts'
import type { WorkloadKinds } from '../../core/workload-kinds/kinds.ts'
import { inspectSystems } from '../../locality/config/inspect.ts'
import type { ConfigSource } from '../../locality/config/source.ts'
import { listen } from '../../server/listen.ts'
import { type AnyCachedKind, kindKey } from '../../store/any-kind.ts'
import type { ApiConnection } from '../../store/cluster/api-connection.ts'
import { bindingKinds } from '../../store/kinds/bindings.ts'
import { injectionKinds } from '../../store/kinds/volumes.ts'
import type { ObjectStore } from '../../store/store.ts'
import { withWholePolicies } from '../check/hub/read-hub.ts'
import { type Arguments, type Command, type CommandIo, UsageError } from '../command.ts'
import { objectsPlace } from '../explain/explain-named.ts'
import type { Context } from '../explain/target.ts'
import { workloadExplainer } from '../explain/workload.ts'
import { describeHidden, isHidden } from '../hidden-kinds.ts'
import { openSource, SOURCE_OPTIONS } from '../open-source.ts'
import { openHostConnection, selectConnection } from '../options/connect.ts'
import { KARMADA_VERSION_OPTION, karmadaRulesOf } from '../options/karmada-version.ts'
import { givenNamespace, namespaceOption } from '../options/namespace.ts'
import { readConfig } from '../options/read-config.ts'
import { readPort } from '../options/read-values.ts'
import { reviewSettings } from '../review-settings.ts'
import { statusKinds } from '../status/cached-kinds.ts'
import { gatherStatus, SECTIONS } from '../status/gather.ts'
import { predict, storedHolds } from '../status/holds.ts'
import { type AccessOptions, openAccess } from './access/open-access.ts'
import { OWNER, ownerIn } from './access/viewer.ts'
import { readAssets } from './assets.ts'
import type { Freshness } from './events.ts'
import { openHistory } from './history.ts'
import { buildLists, type ClusterRow, type Lists } from './lists.ts'
import { moveRows } from './moves.ts'
import { openCheck } from './questions/check.ts'
import { openWhatIf } from './questions/what-if.ts'
import { replicaRows } from './replicas.ts'
import { buildPageServer } from './server.ts'
import { openServerReport } from './server-report.ts'
import { openView } from './view.ts'
import { decidedBindings, workloadRows } from './workloads.ts'

const LOGINS = ['link', 'token'] as const
/** Reached by this machine alone. */
const LOOPBACK = '127.0.0.1'

export const ui: Command = {
  usage: '[-n NAMESPACE] [--open] [--port PORT] [--host NAME…] [--folder DIR | --kubeconfig FILE]',
  options: {
    ...namespaceOption('Read only this namespace, and the kinds that the user may list (default: all namespaces)'),
    port: { type: 'string', value: 'PORT', description: 'Port, 0 for a free one (default: 0)' },
    host: {
      type: 'string',
      multiple: true,
      value: 'NAME',
      description: 'Accept this name in the address of the browser too, for a proxy or a forwarded port',
    },
    open: { type: 'boolean', description: 'Open the page in the browser of this machine' },
    login: {
      type: 'string',
      value: 'HOW',
      values: LOGINS,
      description:
        'link: by the printed link, on this machine. token: each reader with a token of the API server, which decides what it sees (default: link)',
    },
    address: {
      type: 'string',
      value: 'ADDRESS',
      description: 'With --login token: the address to listen on (default: 127.0.0.1)',
    },
    tls: {
      type: 'string',
      value: 'DIR',
      description: 'With --login token: a folder with tls.crt and tls.key (default: a certificate of its own)',
    },
    ...SOURCE_OPTIONS,
    ...KARMADA_VERSION_OPTION,
  },
  examples: [
    { command: 'lodestone ui --kubeconfig karmada.config', does: 'A hub, with the rights of this kubeconfig' },
    { command: 'lodestone ui -n team-a', does: 'One namespace, for a user with rights in it' },
    { command: 'lodestone ui --open', does: 'Open the page in the browser, too' },
    { command: 'lodestone ui --folder examples/hub', does: 'Try it without a cluster' },
    {
      command: 'lodestone ui --login token --address 0.0.0.0 --port 8443 --host lodestone.example.org',
      does: 'In a pod: each reader sees what it may list',
    },
  ],
  run: runUi,
}

async function runUi(args: Arguments, io: CommandIo): Promise<number> {
  const port = readPort(args, 'port') ?? 0
  const accessOptions = readAccessOptions(args)
  const namespace = givenNamespace(args)
  const assets = readAssets()
  const config = readConfig(args, io)
  const workloads = configuredWorkloadKinds(config)
  const folderName = args.text('folder')
  const source = await openSource('ui', args, io, {
    kinds: pageKinds(workloads),
    workloads,
    watch: true,
    mayBeMember: true,
    ...(accessOptions.login === 'link' && { restriction: { namespace } }),
  })
  const { store, folder, isMember, isHub } = source
  const karmadaRules = karmadaRulesOf(args, config, source.karmadaRules)
  const systems = pageSystems(config.systems, accessOptions.login, store)
  const configured = systems && (await inspectSystems(systems))

  const computeLists = async (): Promise<Lists> => {
    const now = io.now()
    const settings = reviewSettings(config, karmadaRules, now)
    const predicted = folder ? await predict(folder, settings, io.signal) : { holds: [], bindings: [] }
    const holds = [...storedHolds(store), ...predicted.holds]
    const everything = { sections: new Set(SECTIONS), namespace: undefined, system: undefined }
    const report = gatherStatus(store, { ...everything, holds, configured, scope: config.claims.clusterScoped, now })
    const decided = decidedBindings(store)
    return buildLists(report, {
      workloads: workloadRows(store, decided, predicted.bindings),
      replicas: replicaRows(store),
      moves: moveRows(decided, placementTiming(config.placement)),
      clusters: [...store.list(clusters)].map(clusterRow),
    })
  }
  const context = (): Context => ({
    store,
    now: io.now(),
    kinds: workloads,
    config,
    karmadaRules,
    isMember,
    isHub,
    isFolder: folder !== undefined,
    place: objectsPlace(folderName, isMember),
  })
  const view = openView(store, computeLists, systemClock)
  const apiServer = { connection: source.connection, store, signal: io.signal, clock: systemClock }
  let host: ApiConnection | undefined
  try {
    if (!folder) host = await openHostConnection(selectConnection(args, io, { usesHome: true }), io)
    const owner = namespace === undefined ? OWNER : ownerIn(namespace, (kind) => isHidden(store, kind))
    const { connection } = source
    const { access, certificates, begin } = await openAccess(accessOptions, { connection, owner }, io)
    const server = buildPageServer({
      mode: folder ? 'folder' : isMember ? 'member' : 'hub',
      origin: folderName ?? source.connection?.server ?? '',
      view,
      access,
      context,
      cachedKinds: () => store.kinds(),
      isServed: (kind) => store.serves(kind),
      freshness: () => storeFreshness(store),
      notice: () => describeHidden(store),
      serverReport: openServerReport({ ...apiServer, host, config, now: io.now }),
      history: openHistory({ ...apiServer, maxMovesPerMinute: config.loops.maxMovesPerMinute }),
      check: openCheck({ context, folder, signal: io.signal }),
      whatIf: openWhatIf({ context, folder, signal: io.signal }),
      assets,
      certificate: certificates?.current(),
      clock: systemClock,
    })
    certificates?.subscribe(server.useCertificate)
    try {
      const place = { host: accessOptions.address, port, option: '--port', hostSetting: '--address' }
      const listening = await listen(place, (usable) => server.listen({ host: usable, port }))
      const { address, hint } = begin(listening)
      io.stdout.write(`The page is at ${address}\n${hint} Press Ctrl-C to stop.\n`)
      if (args.flag('open')) {
        // The page is served meanwhile.
        void openBrowser(address, io.env).then((failure) => {
          if (failure !== undefined) io.stderr.write(`lodestone ui: ${failure}; open the page yourself\n`)
        })
      }
      await aborted(io.signal)
      return 0
    } finally {
      certificates?.stop()
      await server.fastify.close()
    }
  } finally {
    view.close()
    await host?.close()
    await source.close()
  }
}

/** Returns the source of data systems; undefined without one, and for a ConfigMap that the account of a page in a cluster may not read. */
export function pageSystems(
  systems: SystemsConfig,
  login: AccessOptions['login'],
  store: ObjectStore,
): ConfigSource | undefined {
  return login === 'token' && systems.configMap !== undefined ? undefined : systemsSource(systems, store)
}

function clusterRow({ metadata, spec: { provider, region } = {} }: Cluster): ClusterRow {
  return defined({ name: metadata.name ?? '', provider: provider || undefined, region: region || undefined })
}

/** A watch that was silent for longer is worth a warning: API servers send bookmarks about every minute. */
function storeFreshness(store: ObjectStore): Freshness {
  const ages = (store.contactAges?.() ?? []).flatMap(({ ageMs }) => ageMs ?? [])
  return {
    ...defined({ ageSeconds: ages.length > 0 ? Math.round(Math.max(...ages) / 1000) : undefined }),
    unavailable: store
      .unavailable()
      .filter(({ type }) => !isHidden(store, type))
      .map(({ type, message }) => `${type.kind}: ${message}`),
  }
}

function readAccessOptions(args: Arguments): AccessOptions {
  const login = LOGINS.find((known) => known === (args.text('login') ?? 'link'))
  if (!login) throw new UsageError(`--login takes ${LOGINS.join(' or ')}, not ${args.text('login')}`)
  const address = args.text('address') ?? LOOPBACK
  if (login === 'token' && args.text('namespace') !== undefined) {
    throw new UsageError('-n and --login token exclude each other: the token of a reader decides what it sees')
  }
  for (const option of login === 'link' ? ['address', 'tls'] : []) {
    if (args.text(option) !== undefined) throw new UsageError(`--${option} needs --login token`)
  }
  if (isIP(address) === 0) throw new UsageError(`--address takes an IP address, such as 0.0.0.0, not ${address}`)
  return { login, address, hosts: readHosts(args), tls: args.text('tls') }
}

function readHosts(args: Arguments): string[] {
  return args.texts('host').map((host) => {
    if (!/^[A-Za-z0-9.-]+(:[0-9]{1,5})?$/.test(host)) {
      throw new UsageError(
        `--host takes a host name, with a port if it has one, e.g. lodestone.example.org, not ${host}`,
      )
    }
    return host
  })
}

/**
 * The kinds of all tables, explanations and questions. Explanations read more fields of a kind than tables, and suppositions those of every
 * binding: 33 MiB more for 100,000 of them. Pods are read one by one.
 */
export function pageKinds(workloads: WorkloadKinds): AnyCachedKind[] {
  const byKey = new Map<string, AnyCachedKind>()
  for (const kind of [...statusKinds.map(withUse), ...bindingKinds, ...workloadExplainer.reads(workloads)]) {
    byKey.set(kindKey(kind.type), { ...withWholePolicies(kind), optional: true })
  }
  return [...byKey.values()]
}

/** Adds to pods the data that they mount, by which the pods of a replica are found. */
function withUse(kind: AnyCachedKind): AnyCachedKind {
  const complete = kind.type.kind === pods.kind && injectionKinds.find(({ type }) => type.kind === pods.kind)
  if (!complete) return kind
  const { directory, claim } = complete.indexes
  const keep = (raw: Pod) => ({ ...kind.keep(raw as never), ...defined({ use: readPodUse(raw) }) })
  return { ...kind, keep, indexes: { ...kind.indexes, ...defined({ directory, claim }) } }
}

/** The program with its arguments before the link, by `process.platform`. Each gets the link as one argument, without a shell. */
const PROGRAMS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}
const OTHERS = ['xdg-open'] as const

/** The program may wait for a browser that it started. Then the browser has the link. */
const PATIENCE_MS = 10_000

/** Opens the link. Returns why it could not be opened; undefined if a program took it. The environment has the PATH. */
export async function openBrowser(
  link: string,
  env: Readonly<Record<string, string | undefined>>,
  platform: string = process.platform,
): Promise<string | undefined> {
  const [program, ...words] = PROGRAMS[platform] ?? OTHERS
  const child = spawn(program, [...words, link], { env: { ...env }, stdio: 'ignore', detached: true })
  child.unref()
  try {
    const [code] = await once(child, 'exit', { signal: AbortSignal.timeout(PATIENCE_MS) })
    return code === 0 ? undefined : `${program} ended with ${code ?? 'a signal'}`
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ABORT_ERR') return undefined
    if (code === undefined) throw error
    return code === 'ENOENT' ? `there is no ${program} on the PATH` : (error as Error).message
  }
}
