/** Opens the objects of a read-only command: a folder, a hub, or the cluster of the pod. */
import { isBinding } from '../api/karmada.ts'
import type { WorkloadKinds } from '../core/workload-kinds/kinds.ts'
import { openClusterStore } from '../store/cluster/cluster.ts'
import { openConnection } from '../store/cluster/connection.ts'
import { placementKinds, relatedKinds } from '../store/kinds/cached-kinds.ts'
import type { ObjectStore } from '../store/store.ts'
import { type Arguments, type CommandIo, UsageError } from './command.ts'
import { openFolder } from './open-folder.ts'

export const SOURCE_OPTIONS = {
  folder: { type: 'string', value: 'DIR', description: 'Read a folder of manifests' },
  kubeconfig: { type: 'string', value: 'FILE', description: 'Read an API server (default: in-cluster)' },
  context: { type: 'string', value: 'NAME', description: 'Context of the kubeconfig (default: the current one)' },
  config: {
    type: 'string',
    short: 'c',
    value: 'FILE',
    description: 'Configuration file of the server, for permissions of claims',
  },
} as const

const SYNC_TIMEOUT_MS = 60_000

/**
 * Opens the store that the arguments name, without reading it. Errors in it go to stderr. `bindings` caches all bindings; without it, the
 * store is for one workload and its dependencies.
 */
export function openSource(
  command: string,
  args: Arguments,
  io: CommandIo,
  { bindings, workloads }: { bindings: boolean; workloads: WorkloadKinds },
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
    return { store: openFolder(folder, { watch: false, observer, workloads }), close: async () => undefined }
  }
  const context = args.text('context')
  const connection = openConnection(kubeconfig ? { kubeconfig, ...(context && { context }) } : { inCluster: true })
  const kinds = bindings
    ? placementKinds
    : [...placementKinds.filter(({ type }) => !isBinding(type.kind)), ...relatedKinds(workloads)]
  const observer = { error: ({ kind, message }: { kind: string; message: string }) => complain(`${kind}: ${message}`) }
  return { store: openClusterStore({ connection, kinds, observer }), close: () => connection.close() }
}

/** Starts the store, with a timeout of a minute. */
export function startSource(store: ObjectStore, io: CommandIo): Promise<void> {
  return store.start(AbortSignal.any([io.signal, AbortSignal.timeout(SYNC_TIMEOUT_MS)]))
}
