/** `lodestone ui`: serves the page on this machine, with the objects that the user may read. */
import { type Cluster, clusters, isBinding, type ResourceBinding } from '../../api/karmada.ts'
import { systemsSource } from '../../app/config/systems-config.ts'
import { configuredWorkloadKinds } from '../../app/config/workload-kinds-config.ts'
import { defined } from '../../base/json.ts'
import { RepeatLimit } from '../../base/repeat-limit.ts'
import { systemClock } from '../../base/time/clock.ts'
import { hasOurAnnotations } from '../../core/resource-binding/annotations.ts'
import type { WorkloadKinds } from '../../core/workload-kinds/kinds.ts'
import { inspectSystems } from '../../locality/config/inspect.ts'
import { listen } from '../../server/listen.ts'
import { type AnyCachedKind, kindKey } from '../../store/any-kind.ts'
import { placementKinds } from '../../store/kinds/cached-kinds.ts'
import type { ObjectStore } from '../../store/store.ts'
import { type Arguments, type Command, type CommandIo, HELP_OPTION, UsageError } from '../command.ts'
import { placeOf } from '../explain/explain-named.ts'
import type { Context } from '../explain/target.ts'
import { workloadExplainer } from '../explain/workload.ts'
import { KARMADA_VERSION_OPTION, karmadaRulesOf } from '../karmada-version.ts'
import { openSource, SOURCE_OPTIONS } from '../open-source.ts'
import { readConfig } from '../read-config.ts'
import { readPort } from '../read-port.ts'
import { statusKinds } from '../status/cached-kinds.ts'
import { gatherStatus, SECTIONS } from '../status/gather.ts'
import { predict, storedHolds } from '../status/holds.ts'
import { readAssets } from './assets.ts'
import type { Freshness } from './events.ts'
import { type ClusterRow, type Lists, listsOf } from './lists.ts'
import { buildPageServer, LOOPBACK } from './server.ts'
import { openView } from './view.ts'
import { workloadRows } from './workloads.ts'

export const ui: Command = {
  name: 'ui',
  summary: 'Show what waits, and where data is, on a page in the browser',
  usage: '[--port PORT] [--host NAME…] [--folder DIR | --kubeconfig FILE]',
  options: {
    port: { type: 'string', value: 'PORT', description: 'Port on 127.0.0.1, 0 for a free one (default: 0)' },
    host: {
      type: 'string',
      multiple: true,
      value: 'NAME',
      description: 'Accept this name in the address of the browser too, for a proxy or a forwarded port',
    },
    ...SOURCE_OPTIONS,
    ...KARMADA_VERSION_OPTION,
    ...HELP_OPTION,
  },
  examples: [
    { command: 'lodestone ui --kubeconfig karmada.config', does: 'A hub, with the rights of this kubeconfig' },
    { command: 'lodestone ui --folder examples/hub', does: 'Try it without a cluster' },
  ],
  run: runUi,
}

/** A link that was used is opened again by each reload of a browser. */
const NEW_LINK = 'the link was used; open this one'

async function runUi(args: Arguments, io: CommandIo): Promise<number> {
  const port = readPort(args, 'port') ?? 0
  const hosts = readHosts(args)
  const assets = readAssets()
  const config = readConfig(args, io)
  const workloads = configuredWorkloadKinds(config)
  const folderName = args.text('folder')
  const source = await openSource('ui', args, io, {
    kinds: pageKinds(workloads),
    workloads,
    watch: true,
    mayBeMember: true,
  })
  const { store, folder, isMember, isHub } = source
  const karmadaRules = karmadaRulesOf(args, config, source.karmadaRules)
  const systems = systemsSource(config.systems, store)
  const configured = systems && (await inspectSystems(systems))

  const computeLists = async (): Promise<Lists> => {
    const now = io.now()
    const predicted = folder ? await predict(folder, config, now, io.signal) : { holds: [], bindings: [] }
    const holds = [...storedHolds(store), ...predicted.holds]
    const everything = { sections: new Set(SECTIONS), namespace: undefined, system: undefined }
    const report = gatherStatus(store, { ...everything, holds, configured, scope: config.claims.clusterScoped, now })
    return listsOf(report, {
      workloads: workloadRows(store, predicted.bindings),
      clusters: [...store.list(clusters)].map(clusterRow),
    })
  }
  const context = (): Context => ({
    store,
    now: io.now(),
    kinds: workloads,
    scope: config.claims.clusterScoped,
    config,
    karmadaRules,
    isMember,
    isHub,
    place: placeOf(folderName, isMember),
  })
  const repeats = new RepeatLimit()
  const view = openView(store, computeLists, systemClock)
  const server = buildPageServer({
    mode: folder ? 'folder' : isMember ? 'member' : 'hub',
    origin: folderName ?? source.server ?? '',
    view,
    context,
    freshness: () => freshnessOf(store),
    assets,
    hosts,
    onUsedLink: (makeLink) => {
      if (repeats.take(NEW_LINK, io.now())) io.stderr.write(`lodestone ui: ${NEW_LINK}: ${makeLink()}\n`)
    },
    clock: systemClock,
  })
  try {
    const address = { host: LOOPBACK, port, option: '--port' }
    const link = await listen(address, () => server.listen(port))
    io.stdout.write(`The page is at ${link}\nThe link works once. Press Ctrl-C to stop.\n`)
    await new Promise<void>((resolve) => {
      if (io.signal.aborted) resolve()
      io.signal.addEventListener('abort', () => resolve(), { once: true })
    })
    return 0
  } finally {
    view.close()
    await server.fastify.close()
    await source.close()
  }
}

/**
 * The kinds of all tables and explanations. Explanations read more fields of a kind than tables. Bindings and pods they read one by one, so the
 * cache has complete bindings only where Lodestone decided.
 */
function pageKinds(workloads: WorkloadKinds): AnyCachedKind[] {
  const byKey = new Map<string, AnyCachedKind>()
  for (const kind of [...statusKinds.map(withDecided), ...workloadExplainer.reads(workloads)]) {
    byKey.set(kindKey(kind.type), { ...kind, optional: true })
  }
  return [...byKey.values()]
}

function withDecided(kind: AnyCachedKind): AnyCachedKind {
  const complete = isBinding(kind.type.kind) && placementKinds.find(({ type }) => kindKey(type) === kindKey(kind.type))
  if (!complete) return kind
  const keep = (raw: ResourceBinding) =>
    (hasOurAnnotations(raw.metadata.annotations) ? complete : kind).keep(raw as never)
  return { ...kind, keep }
}

function clusterRow({ metadata, spec: { provider, region } = {} }: Cluster): ClusterRow {
  return defined({ name: metadata.name ?? '', provider: provider || undefined, region: region || undefined })
}

/** A watch that was silent for longer is worth a warning: API servers send bookmarks about every minute. */
function freshnessOf(store: ObjectStore): Freshness {
  const ages = (store.contactAges?.() ?? []).flatMap(({ ageMs }) => ageMs ?? [])
  return {
    ...defined({ ageSeconds: ages.length > 0 ? Math.round(Math.max(...ages) / 1000) : undefined }),
    unavailable: store.unavailable().map(({ type, message }) => `${type.kind}: ${message}`),
  }
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
