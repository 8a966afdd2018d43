/** `lodestone snapshot`: writes what decisions on placements read into a file, for questions without the hub. */
import { statSync } from 'node:fs'
import { Writable } from 'node:stream'
import { type Config, loadConfig } from '../../app/config/config.ts'
import { placementTiming } from '../../app/config/placement-config.ts'
import { configuredWorkloadKinds } from '../../app/config/workload-kinds-config.ts'
import type { KarmadaRules } from '../../core/karmada-rules.ts'
import { anonymizer } from '../../store/snapshot/anonymous.ts'
import { snapshotKinds } from '../../store/snapshot/snapshot-kinds.ts'
import {
  type SnapshotContent,
  type SnapshotSettings,
  writeSnapshot,
  writeSnapshotFile,
} from '../../store/snapshot/write-snapshot.ts'
import { type Arguments, type Command, type CommandIo, UsageError } from '../command.ts'
import { withFolderBindings } from '../folder-bindings.ts'
import { openSource, SOURCE_OPTIONS } from '../open-source.ts'
import { KARMADA_VERSION_OPTION, karmadaRulesOf } from '../options/karmada-version.ts'
import { configOption } from '../options/read-config.ts'
import { reviewSettings } from '../review-settings.ts'

export const snapshot: Command = {
  usage: '[-o FILE] [--anonymous] [--folder DIR | --kubeconfig FILE]',
  options: {
    output: { type: 'string', short: 'o', value: 'FILE', description: 'The file to write (default: standard output)' },
    anonymous: {
      type: 'boolean',
      description: 'Replace the names of namespaces, workloads, claims, policies, sources and tables',
    },
    ...SOURCE_OPTIONS,
    ...configOption('Configuration file of the server: permissions of claims, waiting times, workload kinds, prices'),
    ...KARMADA_VERSION_OPTION,
  },
  examples: [
    { command: 'lodestone snapshot --kubeconfig karmada.config -o fleet.lsnap', does: 'The snapshot of a hub' },
    { command: 'lodestone snapshot --folder examples/hub > fleet.lsnap', does: 'The snapshot of a folder' },
    {
      command: 'lodestone snapshot --anonymous --kubeconfig karmada.config -o fleet.lsnap',
      does: 'Without names of tenants, to send it to others',
    },
  ],
  run: runSnapshot,
}

/** A hub with a million bindings is read in minutes. */
const READ_TIMEOUT_MS = 900_000

async function runSnapshot(args: Arguments, io: CommandIo): Promise<number> {
  const file = args.text('output')
  if (file === undefined && io.stdout.isTTY) {
    throw new UsageError('a snapshot is not text; write it into a file with -o FILE')
  }
  const config = loadConfig(args.text('config'))
  const workloads = configuredWorkloadKinds(config)
  const kinds = snapshotKinds(workloads)
  const source = await openSource('snapshot', args, io, {
    kinds,
    folderKinds: kinds,
    workloads,
    readTimeoutMs: READ_TIMEOUT_MS,
  })
  // The objects stay in memory, and must not change while they are written.
  await source.close()
  const { isHub, folder, karmadaRules } = source
  if (!isHub)
    throw new UsageError(`the folder ${args.text('folder')} has no objects of a hub; give the folder of a hub`)
  const now = io.now()
  const rules = karmadaRulesOf(args, config, karmadaRules)
  const store = folder ? await withFolderBindings(folder, reviewSettings(config, rules, now), io.signal) : source.store
  const anonymous = args.flag('anonymous')
  const content: SnapshotContent = {
    store,
    settings: { ...snapshotSettings(config, rules, now), anonymous },
    ...(anonymous && { change: anonymizer(store) }),
  }
  return file === undefined ? writeOutput(content, io) : writeFile(content, file, io)
}

function snapshotSettings(
  config: Config,
  karmadaRules: KarmadaRules,
  now: number,
): Omit<SnapshotSettings, 'anonymous'> {
  return {
    takenAt: new Date(now).toISOString(),
    karmadaRules,
    clusterScopedClaims: config.claims.clusterScoped,
    timing: placementTiming(config.placement),
    workloadKinds: config.workloadKinds,
    ...(config.transferCosts.links.length > 0 && { transferCosts: config.transferCosts }),
  }
}

async function writeFile(content: SnapshotContent, file: string, io: CommandIo): Promise<number> {
  await writeSnapshotFile(content, file, io.signal)
  const written = statSync(file)
  // A pipe or a device may be the standard output.
  if (!written.isFile()) return 0
  const { store } = content
  const objects = store.kinds().reduce((sum, type) => sum + store.size(type), 0)
  io.stdout.write(`${file}: ${objects} objects, ${Math.ceil(written.size / 1024)} KiB\n`)
  return 0
}

async function writeOutput(content: SnapshotContent, { stdout, signal }: CommandIo): Promise<number> {
  try {
    await writeSnapshot(content, stdout instanceof Writable ? stdout : writableTo(stdout), signal)
    return 0
  } catch (error) {
    // The reader of a pipeline ended first, and knows it.
    if ((error as NodeJS.ErrnoException).code === 'EPIPE') return 1
    throw error
  }
}

function writableTo(stdout: CommandIo['stdout']): Writable {
  return new Writable({
    write: (part: Buffer, _encoding, done) => {
      stdout.write(part)
      done()
    },
  })
}
