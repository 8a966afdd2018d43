/** Opens the objects of a read-only command: a folder, a hub, or the cluster of the pod. */
import type { WorkloadKinds } from '../core/workload-kinds/kinds.ts'
import { openClusterStore } from '../store/cluster/cluster.ts'
import type { FolderStore } from '../store/folder/folder.ts'
import type { AnyCachedKind } from '../store/kinds/any-kind.ts'
import type { ObjectStore } from '../store/store.ts'
import type { Arguments, CommandIo } from './command.ts'
import { CONNECTION_OPTIONS, checkFolderAlone, connect } from './connect.ts'
import { openFolder } from './open-folder.ts'
import { type ReadError, ReadFailure } from './read-failure.ts'

export const SOURCE_OPTIONS = {
  folder: { type: 'string', value: 'DIR', description: 'Read a folder of manifests' },
  ...CONNECTION_OPTIONS,
  config: {
    type: 'string',
    short: 'c',
    value: 'FILE',
    description: 'Configuration file of the server, for permissions of claims',
  },
} as const

const SYNC_TIMEOUT_MS = 60_000

interface SourceInput {
  kinds: readonly AnyCachedKind[]
  workloads: WorkloadKinds
  /** Whether a folder is watched. An API server always is. */
  watch?: boolean
}

export interface OpenSource {
  store: ObjectStore
  /** The store, if it is that of a folder. */
  folder?: FolderStore
  /** Stops the store and closes its connection. */
  close(): Promise<void>
}

/**
 * Opens the store that the arguments name, and reads its objects. Errors in single files or objects go to stderr. `kinds` are those to
 * cache from an API server; a folder caches all.
 *
 * Throws `UserError` if the source cannot be read: invalid arguments, an API server that does not respond, a missing permission or CRD.
 */
export async function openSource(
  command: string,
  args: Arguments,
  io: CommandIo,
  input: SourceInput,
): Promise<OpenSource> {
  checkFolderAlone(args)
  const complain = (message: string) => void io.stderr.write(`lodestone ${command}: ${message}\n`)
  const folder = args.text('folder')
  return folder === undefined ? openHub(args, io, input, complain) : openManifests(folder, io, input, complain)
}

async function openManifests(
  folder: string,
  io: CommandIo,
  { workloads, watch = false }: SourceInput,
  complain: (message: string) => void,
): Promise<OpenSource> {
  const observer = {
    fileError: ({ file, line, message }: { file: string; line?: number; message: string }) =>
      complain(`${file}${line ? `:${line}` : ''}: ${message}`),
  }
  const store = openFolder(folder, { watch, observer, workloads })
  await store.start(AbortSignal.any([io.signal, AbortSignal.timeout(SYNC_TIMEOUT_MS)]))
  return { store, folder: store, close: () => store.stop() }
}

async function openHub(
  args: Arguments,
  io: CommandIo,
  { kinds }: SourceInput,
  complain: (message: string) => void,
): Promise<OpenSource> {
  const connection = await connect(args, io)
  const failure = new ReadFailure(connection.server, SYNC_TIMEOUT_MS)
  const observer = {
    error: (error: ReadError) => {
      if (!failure.keeps(error)) complain(`${error.kind}: ${error.message}`)
    },
  }
  const store = openClusterStore({ connection, kinds, observer })
  const close = async () => {
    await store.stop()
    await connection.close()
  }
  try {
    await store.start(AbortSignal.any([io.signal, failure.signal]))
    failure.end()
    return { store, close }
  } catch (error) {
    failure.end()
    await close()
    throw error
  }
}
