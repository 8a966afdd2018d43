/** `lodestone status`: shows claims, holds, sources and data systems, once or live. */
import { dataSources } from '../api/data-source.ts'
import { dataSourceClaims } from '../api/data-source-claim.ts'
import { clusterResourceBindings, resourceBindings } from '../api/karmada.ts'
import { keyOfObject } from '../api/meta.ts'
import { loadConfig } from '../app/config.ts'
import { isTrue } from '../core/conditions.ts'
import { locateClaim } from '../core/data-source-claim/locate.ts'
import { formatBytes } from '../core/quantity.ts'
import { readAnnotations } from '../core/resource-binding/annotations.ts'
import { type ClusterScope, refusalOfClaim } from '../queries/permission.ts'
import { sourceOf } from '../queries/source.ts'
import type { ObjectStore } from '../store/store.ts'
import { type Arguments, type Command, type CommandIo, HELP_OPTION, painter } from './command.ts'
import { formatAge, formatColumns } from './format.ts'
import { openSource, SOURCE_OPTIONS, startSource } from './open-source.ts'

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
  const { store, close } = openSource('status', args, io, { bindings: true })
  const namespace = args.text('namespace')
  const scope = loadConfig(args.text('config')).claims.clusterScoped
  try {
    await startSource(store, io)
    const show = () => io.stdout.write(renderStatus(store, { namespace, scope }, io.now(), painter(io.stdout, io.env)))
    show()
    if (args.flag('watch')) await showAgain(store, io, show)
    return 0
  } finally {
    await store.stop()
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

/** The namespace filter, and the rule for claims of cluster-scoped workloads. */
interface Shown {
  namespace: string | undefined
  scope: ClusterScope
}

/** Renders the four tables. `now` in ms since the epoch. */
function renderStatus(
  store: ObjectStore,
  { namespace, scope }: Shown,
  now: number,
  paint: ReturnType<typeof painter>,
): string {
  const table = (title: string, head: string[], rows: string[][]) =>
    `${paint('bold', `${title} (${rows.length})`)}\n${rows.length === 0 ? '' : formatColumns([head, ...rows])}`
  return [
    table('CLAIMS', ['CLAIM', 'PHASE', 'DATA', 'WORKLOAD', 'LOCATION'], claimRows(store, { namespace, scope }, now)),
    table('HOLDS', ['BINDING', 'SINCE', 'REASON'], holdRows(store, namespace, now)),
    table('SOURCES', ['SOURCE', 'PHASE', 'CLUSTERS', 'BYTES', 'CONFIRMED', 'PROBLEM'], sourceRows(store, now)),
    table('SYSTEMS', ['SYSTEM', 'SOURCES', 'STALE', 'HEALTH'], systemRows(store, now)),
  ].join('\n')
}

function claimRows(store: ObjectStore, { namespace, scope }: Shown, now: number): string[][] {
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
        spec.locality?.bytes === undefined ? '' : formatBytes(spec.locality.bytes),
        Number.isNaN(confirmed) ? 'never' : `${formatAge(now - confirmed)} ago`,
        known?.lastError ?? '',
      ]
    })
    .sort(byFirst)
}

/** The health of systems, from the conditions of sources, because another process checks the systems. */
function systemRows(store: ObjectStore, now: number): string[][] {
  const systems = Map.groupBy(store.list(dataSources), ({ spec }) => spec.system)
  return [...systems]
    .map(([system, sources]) => {
      const all = sources.map(({ status: known }) => known?.conditions)
      const stale = all.filter((conditions) => isTrue(conditions, 'Stale')).length
      const [unhealthy] = all.flatMap(
        (conditions) => conditions?.filter(({ type, status }) => type === 'SystemHealthy' && status === 'False') ?? [],
      )
      const asked = sources.some(({ status: known }) => known?.lastResolvedTime !== undefined)
      const since = unhealthy && formatAge(now - Date.parse(unhealthy.lastTransitionTime))
      const health = unhealthy ? `unhealthy for ${since}: ${unhealthy.message}` : asked ? 'healthy' : 'never queried'
      return [system, String(sources.length), String(stale), health]
    })
    .sort(byFirst)
}

function byFirst([a = '']: string[], [b = '']: string[]): number {
  return a < b ? -1 : 1
}
