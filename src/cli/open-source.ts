/** Where a command that only looks gets its objects from: a folder, a hub, or the cluster that it runs in. */
import { isBinding } from '../api/karmada.ts'
import { openClusterStore } from '../store/cluster/cluster.ts'
import { openConnection } from '../store/cluster/connection.ts'
import { placementKinds, relatedKinds } from '../store/kinds/cached-kinds.ts'
import type { ObjectStore } from '../store/store.ts'
import { type Arguments, type CommandIo, UsageError } from './command.ts'
import { openFolder } from './open-folder.ts'

export const SOURCE_OPTIONS = {
  folder: { type: 'string', value: 'DIR', description: 'Look into a folder of manifests' },
  kubeconfig: { type: 'string', value: 'FILE', description: 'Look into an API server (default: in-cluster)' },
  context: { type: 'string', value: 'NAME', description: 'A context of the kubeconfig other than its current one' },
  config: {
    type: 'string',
    short: 'c',
    value: 'FILE',
    description: 'Configuration file of the server: which claims are permitted follows from it',
  },
} as const

const SYNC_TIMEOUT_MS = 60_000

/**
 * Opens the store that the words name; nothing is read yet. Mistakes in it are told on stderr. With `bindings` it is for a look at all of
 * them, and without for a look at one workload, with what goes with it.
 */
export function openSource(
  command: string,
  args: Arguments,
  io: CommandIo,
  { bindings }: { bindings: boolean },
): { store: ObjectStore; close: () => Promise<void> } {
  const folder = args.text('folder')
  const kubeconfig = args.text('kubeconfig')
  if (folder !== undefined && kubeconfig !== undefined) {
    throw new UsageError('--folder and --kubeconfig exclude each other')
  }
  const complain = (message: string) => void io.stderr.write(`lodestone ${command}: ${message}\n`)
  if (folder !== undefined) {
    const observer = {
      fileError: ({ file, line, message }: { file: string; line?: number; message: string }) =>
        complain(`${file}${line ? `:${line}` : ''}: ${message}`),
    }
    return { store: openFolder(folder, { watch: false, observer }), close: async () => undefined }
  }
  const context = args.text('context')
  const connection = openConnection(kubeconfig ? { kubeconfig, ...(context && { context }) } : { inCluster: true })
  const kinds = bindings
    ? placementKinds
    : [...placementKinds.filter(({ type }) => !isBinding(type.kind)), ...relatedKinds]
  const observer = { error: ({ kind, message }: { kind: string; message: string }) => complain(`${kind}: ${message}`) }
  return { store: openClusterStore({ connection, kinds, observer }), close: () => connection.close() }
}

/** Reads everything, for a minute at most. */
export function startSource(store: ObjectStore, io: CommandIo): Promise<void> {
  return store.start(AbortSignal.any([io.signal, AbortSignal.timeout(SYNC_TIMEOUT_MS)]))
}
