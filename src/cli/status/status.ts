/** `lodestone status`: shows claims, workloads on hold, volumes, sources and data systems, once or live. */
import { setTimeout as sleep } from 'node:timers/promises'
import { dataSources } from '../../api/data-source.ts'
import { dataSourceClaims } from '../../api/data-source-claim.ts'
import type { ResourceType } from '../../api/meta.ts'
import { volumeManagers } from '../../api/volume-manager.ts'
import { systemsSource } from '../../app/config/systems-config.ts'
import { configuredWorkloadKinds } from '../../app/config/workload-kinds-config.ts'
import { listNames } from '../../base/names.ts'
import { suggest } from '../../base/suggest.ts'
import { inspectSystems } from '../../locality/config/inspect.ts'
import type { FolderStore } from '../../store/folder/folder.ts'
import type { ObjectStore } from '../../store/store.ts'
import { type Arguments, type Command, type CommandIo, painter, UsageError } from '../command.ts'
import { describeHidden, isHidden } from '../hidden-kinds.ts'
import { openSource, SOURCE_OPTIONS } from '../open-source.ts'
import { configuredKarmadaRules } from '../options/karmada-version.ts'
import { givenNamespace, namespaceOption } from '../options/namespace.ts'
import { readConfig } from '../options/read-config.ts'
import { OUTPUT_FORMATS, OUTPUT_OPTION, type OutputFormat, readFormat, renderData } from '../output.ts'
import { reviewSettings } from '../review-settings.ts'
import { statusKinds } from './cached-kinds.ts'
import { gatherStatus, SECTIONS, type StatusInput } from './gather.ts'
import { predict, storedHolds } from './holds.ts'
import { renderStatus } from './render.ts'
import type { Section, StatusReport } from './report.ts'

export const status: Command = {
  usage: '[-n NAMESPACE] [--held] [--volumes] [--system NAME] [-o FORMAT] [--watch] [--folder DIR | --kubeconfig FILE]',
  options: {
    ...namespaceOption('Read only claims, holds and volumes of this namespace, and the kinds that the user may list'),
    'all-namespaces': { type: 'boolean', short: 'A', description: 'All namespaces (default)' },
    held: { type: 'boolean', description: 'Only workloads on hold' },
    volumes: { type: 'boolean', description: 'Only volumes' },
    system: { type: 'string', value: 'NAME', description: 'Only claims, holds and sources of this data system' },
    watch: { type: 'boolean', short: 'w', description: 'Show it again after each change' },
    ...OUTPUT_OPTION,
    ...SOURCE_OPTIONS,
  },
  examples: [
    { command: 'lodestone status --kubeconfig karmada.config', does: 'The current state of a hub' },
    { command: 'lodestone status --kubeconfig karmada.config -n demo --watch', does: 'One namespace, live' },
    { command: 'lodestone status --folder examples/member --volumes -o wide', does: 'The volumes in a folder' },
  ],
  run: runStatus,
}

async function runStatus(args: Arguments, io: CommandIo): Promise<number> {
  const format = readFormat(args, OUTPUT_FORMATS)
  const selection = readSelection(args)
  const config = readConfig(args, io)
  const watch = args.flag('watch')
  const workloads = configuredWorkloadKinds(config)
  const { store, folder, close } = await openSource('status', args, io, {
    kinds: statusKinds,
    workloads,
    watch,
    mayBeMember: true,
    restriction: { namespace: selection.namespace },
  })
  try {
    if (!store.serves(dataSourceClaims) && !store.serves(volumeManagers)) {
      io.stderr.write('lodestone status: the API server has no kinds of Lodestone; install its CRDs\n')
      return 1
    }
    const source = systemsSource(config.systems, store)
    const configured = source && (await inspectSystems(source))
    const unknown = problemOfSystem(
      store,
      selection.system,
      configured?.map(({ system }) => system),
    )
    if (unknown) {
      io.stderr.write(`lodestone status: ${unknown}\n`)
      return 1
    }
    const problem = folder && problemOfFolder(folder, args.text('folder'), selection.namespace)
    if (problem) io.stderr.write(`lodestone status: ${problem}\n`)
    const hidden = describeHidden(store)
    if (hidden) io.stderr.write(`lodestone status: ${hidden}\n`)
    const paint = painter(io.stdout, io.env)
    const render = async () => {
      const now = io.now()
      const settings = reviewSettings(config, configuredKarmadaRules(config), now)
      const { holds: predicted } = folder ? await predict(folder, settings, io.signal) : { holds: [] }
      const holds = [...storedHolds(store), ...predicted]
      const scope = config.claims.clusterScoped
      const report = gatherStatus(store, { ...selection, holds, configured, scope, now })
      return format === 'json' || format === 'yaml'
        ? renderData(report, format)
        : renderStatus(served(report, store), { now, isWide: format === 'wide', paint })
    }
    if (watch) await watchStatus(store, io, render, format)
    else io.stdout.write(await render())
    return 0
  } finally {
    await close()
  }
}

const KIND_OF: Partial<Record<Section, ResourceType>> = {
  claims: dataSourceClaims,
  sources: dataSources,
  systems: dataSources,
  volumes: volumeManagers,
}

/** Leaves out the empty lists of kinds that are hidden, or that the API server does not serve, such as the claims of a member. */
function served(report: StatusReport, store: ObjectStore): StatusReport {
  const isShown = ([section, rows]: [string, unknown]) => {
    const type = KIND_OF[section as Section]
    const isRead = type !== undefined && store.serves(type) && !isHidden(store, type)
    return type === undefined || isRead || (rows as unknown[]).length > 0
  }
  return Object.fromEntries(Object.entries(report).filter(isShown)) as unknown as StatusReport
}

function readSelection(args: Arguments): Pick<StatusInput, 'sections' | 'namespace' | 'system'> {
  const namespace = givenNamespace(args)
  const system = args.text('system')
  if (namespace !== undefined && args.flag('all-namespaces')) {
    throw new UsageError('-n and -A exclude each other; omit -n to show all namespaces')
  }
  if (system !== undefined && args.flag('volumes')) {
    throw new UsageError('--system and --volumes exclude each other; volumes have no data system')
  }
  const only: Section[] = [
    ...(args.flag('held') ? ['holds' as const] : []),
    ...(args.flag('volumes') ? ['volumes' as const] : []),
  ]
  const all = SECTIONS.filter((section) => system === undefined || section !== 'volumes')
  return { sections: new Set(only.length > 0 ? only : all), namespace, system }
}

/** Returns the error for a data system that neither an object nor the configuration names. */
function problemOfSystem(
  store: ObjectStore,
  system: string | undefined,
  configured: string[] = [],
): string | undefined {
  if (system === undefined) return undefined
  const objects = [...store.list(dataSources), ...store.list(dataSourceClaims)]
  const known = new Set([...configured, ...objects.map(({ spec }) => spec.system)])
  if (known.has(system)) return undefined
  const similar = suggest(system, known)
  const wayOut = known.size > 0 ? `; known: ${listNames(known)}; with -c FILE, those of FILE too` : '; give -c FILE'
  return `no data system ${system}${similar || wayOut}`
}

/** Returns why the tables of a folder are empty: it has no object, or none in the namespace of `-n`. Undefined if it has one. */
function problemOfFolder(
  folder: FolderStore,
  title: string | undefined,
  namespace: string | undefined,
): string | undefined {
  const objects = folder.objects()
  if (objects.length === 0) return `no manifest in ${title}; check the path of --folder`
  const known = new Set(objects.flatMap(({ object }) => object.metadata.namespace ?? []))
  if (namespace === undefined || known.size === 0 || known.has(namespace)) return undefined
  return `no object is in namespace ${namespace}; the folder has ${listNames([...known].sort())}`
}

/** The time between two looks for changes. */
const REFRESH_MS = 500

/** Text in place of the last one, at a terminal. */
const CLEAR = '\u001b[H\u001b[2J'

/**
 * Prints the status, and prints it again when it changed, until the user stops it. At a terminal, the new text replaces the old one.
 * A reader that pauses gets the last status when it continues: the ones between would fill the memory.
 *
 * @param render returns the current status; it is not called again before it has resolved
 */
export async function watchStatus(
  store: ObjectStore,
  { stdout, signal }: CommandIo,
  render: () => Promise<string>,
  format: OutputFormat,
): Promise<void> {
  const isText = format === 'text' || format === 'wide'
  const separator = isText ? (stdout.isTTY ? CLEAR : '\n') : format === 'yaml' ? '---\n' : ''
  let isChanged = true
  const unsubscribe = store.subscribe(() => {
    isChanged = true
  })
  let last: string | undefined
  try {
    for (;;) {
      if (isChanged && !stdout.writableNeedDrain) {
        isChanged = false
        const text = await render()
        if (text !== last) stdout.write(last === undefined ? text : `${separator}${text}`)
        last = text
      }
      // The timer keeps the process alive; the watch of a folder does not.
      await sleep(REFRESH_MS, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) return
    }
  } finally {
    unsubscribe()
  }
}
