/** Opens the fleets of a question: a hub, snapshots of hubs, or a folder with the bindings that Karmada would create for it. */
import { clusters } from '../../api/karmada.ts'
import type { Config } from '../../app/config/config.ts'
import { configuredWorkloadKinds } from '../../app/config/workload-kinds-config.ts'
import { openTransferMatrix } from '../../core/transfer-cost/matrix.ts'
import { type AskableFleet, openFleet } from '../../queries/what-if/ask.ts'
import type { FolderStore } from '../../store/folder/folder.ts'
import { kindsFor } from '../../store/kinds/cached-kinds.ts'
import { volumeClaimKinds } from '../../store/kinds/persistent-volumes.ts'
import { snapshotContext } from '../../store/snapshot/header.ts'
import { openSnapshotStore } from '../../store/snapshot/read-snapshot.ts'
import type { ObjectStore } from '../../store/store.ts'
import type { ReviewSettings } from '../check/review/review-object.ts'
import { type Arguments, type CommandIo, UsageError } from '../command.ts'
import { withFolderBindings } from '../folder-bindings.ts'
import { openSource } from '../open-source.ts'
import { karmadaRulesOf } from '../options/karmada-version.ts'
import { DEFAULT_NAMESPACE, givenNamespace, readNamespace } from '../options/namespace.ts'
import { reviewSettings } from '../review-settings.ts'
import type { SupposeContext } from './supposed.ts'

/** One hub, ready for questions. */
export interface FleetSource {
  /** The file of a snapshot; undefined for a hub or a folder. */
  file: string | undefined
  fleet: AskableFleet
  context: SupposeContext
  /** Limits of every answer, as sentences without a full stop. */
  notes: string[]
}

export interface FleetSources {
  sources: readonly FleetSource[]
  close(): Promise<void>
}

/** Throws as `openSource` and `openSnapshotStore` do. */
export async function openFleetSources(args: Arguments, io: CommandIo, config: Config): Promise<FleetSources> {
  const files = args.texts('snapshot')
  if (files.length === 0) return openLive(args, io, config)
  const other = ['folder', 'kubeconfig', 'context'].find((option) => args.text(option) !== undefined)
  if (other) throw new UsageError(`--snapshot and --${other} exclude each other: a snapshot has the objects`)
  const sources: FleetSource[] = []
  for (const file of files) sources.push(await openSnapshot(file, args, io, config))
  return { sources, close: async () => {} }
}

async function openLive(args: Arguments, io: CommandIo, config: Config): Promise<FleetSources> {
  const kinds = configuredWorkloadKinds(config)
  const namespace = await readNamespace(args, io)
  const source = await openSource('what-if', args, io, {
    // Bindings show which dependencies follow a workload. So no user needs the right to list Secrets, which exposes their content.
    kinds: [...kindsFor({ workloads: kinds, dependencies: false, movesData: false }), ...volumeClaimKinds],
    workloads: kinds,
  })
  try {
    const { folder, isMember } = source
    if (folder && (isMember || folder.objects().length === 0))
      throw new UsageError(`the folder ${args.text('folder')} has no objects of a hub; give the folder of a hub`)
    const settings = reviewSettings(config, karmadaRulesOf(args, config, source.karmadaRules), io.now())
    const fleet = await openLiveFleet(source, settings, { namespace, signal: io.signal })
    return { sources: [fleet], close: source.close }
  } catch (error) {
    await source.close()
    throw error
  }
}

type QuestionSettings = Pick<SupposeContext, 'namespace' | 'signal'>

/** Opens the fleet of a hub or of a folder, which gets the bindings that Karmada would create. Throws when the signal aborts. */
export async function openLiveFleet(
  { store, folder }: { store: ObjectStore; folder?: FolderStore | undefined },
  settings: ReviewSettings,
  question: QuestionSettings,
): Promise<FleetSource> {
  const objects = folder ? await withFolderBindings(folder, settings, question.signal) : store
  return openFleetSource(undefined, { ...settings, ...question, store: objects })
}

/** The time, the rules and the settings are those of the snapshot. Its prices count unless `--config` has some. */
async function openSnapshot(file: string, args: Arguments, io: CommandIo, config: Config): Promise<FleetSource> {
  const { store, header } = await openSnapshotStore({ file, signal: io.signal })
  const { clusterScopedClaims, timing, kinds, karmadaRules } = snapshotContext(header)
  const rules = args.text('karmada-version') === undefined ? karmadaRules : karmadaRulesOf(args, config, karmadaRules)
  const settings = reviewSettings(config, rules, Date.parse(header.takenAt))
  return openFleetSource(file, {
    ...settings,
    store,
    workloads: kinds,
    clusterScopedClaims,
    timing,
    signal: io.signal,
    matrix: settings.matrix ?? (header.transferCosts && openTransferMatrix(header.transferCosts)),
    namespace: givenNamespace(args) ?? DEFAULT_NAMESPACE,
  })
}

async function openFleetSource(file: string | undefined, context: SupposeContext): Promise<FleetSource> {
  const { store, signal, workloads: kinds, ...settings } = context
  const fleet = await openFleet(store, { ...settings, kinds }, signal)
  return { file, fleet, context, notes: notesOn(store) }
}

function notesOn(store: ObjectStore): string[] {
  return [
    ...store.unavailable().map(({ message }) => message),
    ...(store.size(clusters) === 0
      ? ['no Cluster is known, so selectors, taints and APIs of clusters are not considered']
      : []),
  ]
}
