/** Opens the objects of a read-only command: a folder, a hub, or the cluster of the pod. */
import { dataSources } from '../api/data-source.ts'
import { dataSourceClaims } from '../api/data-source-claim.ts'
import {
  clusterPropagationPolicies,
  clusterResourceBindings,
  clusters,
  propagationPolicies,
  resourceBindings,
} from '../api/karmada.ts'
import { volumeManagers } from '../api/volume-manager.ts'
import { defined } from '../base/json.ts'
import { printable } from '../base/printable.ts'
import { RepeatLimit } from '../base/time/repeat-limit.ts'
import { type KarmadaRules, rulesOfSchemas, strictestRules } from '../core/karmada-rules.ts'
import type { WorkloadKinds } from '../core/workload-kinds/kinds.ts'
import type { AnyCachedKind } from '../store/any-kind.ts'
import type { ApiConnection } from '../store/cluster/api-connection.ts'
import { ApiError } from '../store/cluster/api-error.ts'
import { type ClusterStore, openClusterStore } from '../store/cluster/cluster.ts'
import { readBindingSchemas, servesPolicies } from '../store/cluster/server-info.ts'
import type { FolderStore } from '../store/folder/folder.ts'
import type { ObjectStore } from '../store/store.ts'
import type { Arguments, CommandIo } from './command.ts'
import { hiddenKinds } from './hidden-kinds.ts'
import { openFolder } from './open-folder.ts'
import { CONNECTION_OPTIONS, checkFolderAlone, connect } from './options/connect.ts'
import { contextNamespace } from './options/namespace.ts'
import { configOption } from './options/read-config.ts'
import { ForbiddenReadError, notHub, nothingReadable, type ReadError, ReadFailure } from './read-failure.ts'

export const SOURCE_OPTIONS = {
  folder: { type: 'string', value: 'DIR', description: 'Read a folder of manifests' },
  ...CONNECTION_OPTIONS,
  ...configOption('Configuration file of the server, for permissions of claims and prices'),
} as const

const SYNC_TIMEOUT_MS = 60_000

interface SourceInput {
  kinds: readonly AnyCachedKind[]
  workloads: WorkloadKinds
  /** Whether the command also works without a hub. Then the API server may lack all kinds. */
  mayBeMember?: boolean
  /** Whether a folder is watched. An API server always is. */
  watch?: boolean
  /** The kinds to cache from a folder. Default: all. */
  folderKinds?: readonly AnyCachedKind[]
  /** How long the first read may take. Default: a minute. */
  readTimeoutMs?: number
  /**
   * Given by commands that can show one namespace: the one of `-n`; undefined for all. Of an API server, only this namespace is read, and
   * kinds that the user may not list are left out (`hiddenKinds`). A folder is read whole.
   */
  restriction?: { namespace: string | undefined }
  /**
   * Given by commands that answer for one namespace: this namespace. A user who may not list a kind in all namespaces gets the answer of this
   * one, as with `restriction`. Other users get that of all namespaces.
   */
  fallbackNamespace?: string | undefined
}

export interface OpenSource {
  store: ObjectStore
  /** The store, if it is that of a folder. */
  folder?: FolderStore
  /** Whether the objects are those of a cluster that is not a hub: a member cluster, or a single cluster. */
  isMember: boolean
  /** Whether the objects are those of a hub. A folder may be neither: with a workload alone, this is not known. */
  isHub: boolean
  /** The connection to the API server; absent for a folder. */
  connection?: ApiConnection
  /** The rules of the hub's Karmada; absent for a folder. */
  karmadaRules?: KarmadaRules
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
  const complain = (message: string) => void io.stderr.write(`lodestone ${command}: ${printable(message)}\n`)
  const folder = args.text('folder')
  return folder === undefined ? openHub(args, io, input, complain) : openManifests(folder, io, input, complain)
}

async function openManifests(
  folder: string,
  io: CommandIo,
  { workloads, watch = false, folderKinds }: SourceInput,
  complain: (message: string) => void,
): Promise<OpenSource> {
  const observer = {
    fileError: ({ file, line, message }: { file: string; line?: number; message: string }) =>
      complain(`${file}${line ? `:${line}` : ''}: ${message}`),
    error: ({ message, error }: ReadError) => complain(`${message}: ${(error as Error).message}`),
  }
  const store = openFolder(folder, { watch, observer, workloads, ...defined({ kinds: folderKinds }) })
  await store.start(AbortSignal.any([io.signal, AbortSignal.timeout(SYNC_TIMEOUT_MS)]))
  const isHub = HUB_KINDS.some((type) => store.size(type) > 0)
  const isMember = store.size(volumeManagers) > 0 && !isHub
  return { store, folder: store, isMember, isHub, close: () => store.stop() }
}

/** The kinds whose objects tell that a folder is that of a hub. */
const HUB_KINDS = [
  clusters,
  propagationPolicies,
  clusterPropagationPolicies,
  resourceBindings,
  clusterResourceBindings,
  dataSourceClaims,
  dataSources,
]

async function openHub(
  args: Arguments,
  io: CommandIo,
  input: SourceInput,
  complain: (message: string) => void,
): Promise<OpenSource> {
  const { mayBeMember = false, restriction, fallbackNamespace } = input
  const connection = await connect(args, io)
  const abort = () => void connection.close()
  const closeConnection = async () => {
    io.signal.removeEventListener('abort', abort)
    await connection.close()
  }
  try {
    const isHub = await checkHub(connection, mayBeMember, io.signal)
    // Ctrl-C also ends a request for a single object, to which the API server may not respond for long.
    io.signal.addEventListener('abort', abort, { once: true })
    const karmadaRules = await readRules(connection)
    const wayOut = restriction && `use -n ${(await contextNamespace(args, io)) ?? 'NAMESPACE'} to see one namespace`
    const read = (namespace: string | undefined) =>
      readObjects({ ...input, connection, isHub, namespace, wayOut, io, complain })
    const store = await read(restriction?.namespace).catch((error) => {
      if (!(error instanceof ForbiddenReadError) || fallbackNamespace === undefined) throw error
      return read(fallbackNamespace)
    })
    const close = async () => {
      await store.stop()
      await closeConnection()
    }
    return { store, isMember: !isHub, isHub, connection, karmadaRules, close }
  } catch (error) {
    await closeConnection()
    throw error
  }
}

interface ReadInput extends Pick<SourceInput, 'kinds' | 'readTimeoutMs'> {
  connection: ApiConnection
  isHub: boolean
  /** The only one to read; undefined for all. */
  namespace: string | undefined
  wayOut: string | undefined
  io: CommandIo
  complain: (message: string) => void
}

/** Returns the store of an API server after its first read. Throws `UserError` if that fails. */
async function readObjects(input: ReadInput): Promise<ClusterStore> {
  const { connection, isHub, namespace, wayOut, io, complain, readTimeoutMs = SYNC_TIMEOUT_MS } = input
  const failure = new ReadFailure(connection.server, { timeoutMs: readTimeoutMs, wayOut })
  const repeats = new RepeatLimit()
  const observer = {
    error: (error: ReadError) => {
      const line = `${error.kind}: ${error.message}`
      // During an outage, every kind is tried again for as long as the command watches.
      if (!failure.keeps(error) && !io.signal.aborted && repeats.take(line, io.now())) complain(line)
    },
  }
  const optional = isHub ? {} : { optional: true as const }
  const store = openClusterStore({
    connection,
    // A command shows what exists now.
    kinds: input.kinds.map(({ absence, ...kind }) => ({ ...kind, ...optional })),
    observer,
    namespace,
    ...defined({ clock: io.clock }),
  })
  try {
    await store.start(AbortSignal.any([io.signal, failure.signal]))
    checkRights(store, connection.server)
    return store
  } catch (error) {
    await store.stop()
    throw error
  } finally {
    failure.end()
  }
}

/** Throws `UserError` if the user may list nothing in the only namespace that is read. */
function checkRights(store: ObjectStore, server: string): void {
  const hidden = hiddenKinds(store)
  const [first] = hidden.filter(({ type }) => type.namespaced)
  const shown = store.kinds().filter((type) => type.namespaced && store.serves(type))
  if (first && shown.every((type) => hidden.some((one) => one.type === type))) throw nothingReadable(server, first)
}

/** Returns the strictest rules if the user may not read the schemas of the API server. */
async function readRules(connection: ApiConnection): Promise<KarmadaRules> {
  try {
    return rulesOfSchemas(await readBindingSchemas(connection))
  } catch (error) {
    if (error instanceof ApiError) return strictestRules
    throw error
  }
}

/** Returns whether the API server is a hub. Throws `UserError` if it has to be one. */
async function checkHub(connection: ApiConnection, mayBeMember: boolean, signal: AbortSignal): Promise<boolean> {
  const isHub = await servesPolicies(connection, signal)
  if (!isHub && !mayBeMember) throw notHub(connection.server)
  return isHub
}
