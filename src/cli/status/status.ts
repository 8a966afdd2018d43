/** `lodestone status`: shows claims, holds, sources and data systems, once or live. */
import { dataSources } from '../../api/data-source.ts'
import { dataSourceClaims } from '../../api/data-source-claim.ts'
import { clusterResourceBindings, resourceBindings } from '../../api/karmada.ts'
import { keyOfObject } from '../../api/meta.ts'
import { loadConfig } from '../../app/config.ts'
import { systemsSource, withPluginPath } from '../../app/systems-config.ts'
import { workloadKindsOf } from '../../app/workload-kinds-config.ts'
import { locateClaim } from '../../core/data-source-claim/locate.ts'
import { formatSize } from '../../core/quantity.ts'
import { readAnnotations } from '../../core/resource-binding/annotations.ts'
import { type InspectedSystem, inspectSystems } from '../../locality/config/inspect.ts'
import { type ClusterScope, refusalOfClaim } from '../../queries/permission.ts'
import { sourceOf } from '../../queries/source.ts'
import { placementKinds } from '../../store/kinds/cached-kinds.ts'
import type { ObjectStore } from '../../store/store.ts'
import { type Arguments, type Command, type CommandIo, HELP_OPTION, painter } from '../command.ts'
import { byFirst, formatAge, formatColumns } from '../format.ts'
import { openSource, SOURCE_OPTIONS } from '../open-source.ts'
import { systemRows } from './systems.ts'

export const status: Command = {
  name: 'status',
  summary: 'Show claims, workloads on hold, sources and data systems',
  usage: '[-n NAMESPACE] [--watch] [--folder DIR | --kubeconfig FILE]',
  options: {
    namespace: {
      type: 'string',
      short: 'n',
      value: 'NAMESPACE',
      description: 'Only claims and holds of this namespace',
    },
    watch: { type: 'boolean', short: 'w', description: 'Show it again after each change' },
    ...SOURCE_OPTIONS,
    ...HELP_OPTION,
  },
  examples: [
    { command: 'lodestone status --kubeconfig karmada.config', does: 'The current state of a hub' },
    { command: 'lodestone status --kubeconfig karmada.config -n demo --watch', does: 'One namespace, live' },
  ],
  run: runStatus,
}

/** Changes within this time are shown once. */
const REFRESH_MS = 500

async function runStatus(args: Arguments, io: CommandIo): Promise<number> {
  const config = loadConfig(args.text('config'))
  const { store, close } = await openSource('status', args, io, {
    kinds: placementKinds,
    workloads: workloadKindsOf(config),
  })
  const namespace = args.text('namespace')
  const scope = config.claims.clusterScoped
  try {
    const source = systemsSource(withPluginPath(config.systems, io.env), store)
    const configured = source && (await inspectSystems(source))
    const paint = painter(io.stdout, io.env)
    const show = () => io.stdout.write(renderStatus(store, { namespace, scope, configured }, io.now(), paint))
    show()
    if (args.flag('watch')) await showAgain(store, io, show)
    return 0
  } finally {
    await close()
  }
}

/** Repeats the output until the user stops it; at a terminal in place. */
function showAgain(store: ObjectStore, io: CommandIo, show: () => void): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const unsubscribe = store.subscribe(() => {
    timer ??= setTimeout(() => {
      timer = undefined
      io.stdout.write(io.stdout.isTTY ? '\u001b[H\u001b[2J' : '\n')
      show()
    }, REFRESH_MS)
  })
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      unsubscribe()
      resolve()
    }
    if (io.signal.aborted) end()
    else io.signal.addEventListener('abort', end, { once: true })
  })
}

/** The namespace filter, the rule for claims of cluster-scoped workloads, and the systems of the configuration. */
interface Shown {
  namespace: string | undefined
  scope: ClusterScope
  configured: InspectedSystem[] | undefined
}

/** Renders the four tables. `now` in ms since the epoch. */
function renderStatus(
  store: ObjectStore,
  { namespace, scope, configured }: Shown,
  now: number,
  paint: ReturnType<typeof painter>,
): string {
  const table = (title: string, head: string[], rows: string[][]) =>
    `${paint('bold', `${title} (${rows.length})`)}\n${rows.length === 0 ? '' : formatColumns([head, ...rows])}`
  return [
    table('CLAIMS', ['CLAIM', 'PHASE', 'DATA', 'WORKLOAD', 'LOCATION'], claimRows(store, namespace, scope, now)),
    table('HOLDS', ['BINDING', 'SINCE', 'REASON'], holdRows(store, namespace, now)),
    table('SOURCES', ['SOURCE', 'PHASE', 'CLUSTERS', 'BYTES', 'CONFIRMED', 'PROBLEM'], sourceRows(store, now)),
    table(
      'SYSTEMS',
      ['SYSTEM', 'SOURCES', 'STALE', 'HEALTH'],
      systemRows([...store.list(dataSources)], configured, now),
    ),
  ].join('\n')
}

function claimRows(store: ObjectStore, namespace: string | undefined, scope: ClusterScope, now: number): string[][] {
  return [...store.list(dataSourceClaims)]
    .filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace)
    .map((claim) => {
      const { answer, claim: name } = locateClaim(claim, sourceOf(claim, store), now)
      const { kind, name: workload } = claim.spec.workload
      const refusal = refusalOfClaim(claim, store, scope)
      const known = answer.kind === 'located' ? answer.clusters.join(', ') : `${answer.kind}: ${answer.reason}`
      return [
        name,
        claim.status?.phase ?? 'Pending',
        `${claim.spec.system} ${claim.spec.dataSourceName}`,
        `${kind}/${workload}`,
        refusal === undefined ? known : `not permitted: ${refusal}`,
      ]
    })
    .sort(byFirst)
}

function holdRows(store: ObjectStore, namespace: string | undefined, now: number): string[][] {
  return [resourceBindings, clusterResourceBindings]
    .flatMap((type) => [...store.list(type)])
    .filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace)
    .flatMap(({ metadata }) => {
      const { hold } = readAnnotations(metadata.annotations)
      if (!hold || hold.released) return []
      return [[keyOfObject({ metadata }), formatAge(now - Date.parse(hold.since)), hold.message]]
    })
    .sort(byFirst)
}

function sourceRows(store: ObjectStore, now: number): string[][] {
  return [...store.list(dataSources)]
    .map(({ metadata, spec, status: known }) => {
      const confirmed = Date.parse(known?.lastResolvedTime ?? '')
      return [
        metadata.name ?? '',
        known?.phase ?? 'Pending',
        spec.locality?.clusterNames?.join(', ') ?? '',
        spec.locality?.bytes === undefined ? '' : formatSize(spec.locality.bytes, spec.locality.bytesAreMinimum),
        Number.isNaN(confirmed) ? 'never' : `${formatAge(now - confirmed)} ago`,
        known?.lastError ?? '',
      ]
    })
    .sort(byFirst)
}
