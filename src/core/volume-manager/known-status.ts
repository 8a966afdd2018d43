/**
 * Reads the status of a VolumeManager as the memory of its plan. Another client may have written it: a user with that right, a restored backup,
 * or another version of Lodestone. So data that is not that of the VolumeManager, and values that are not known, are left out.
 */
import type { Schema } from '../../api/schemas/schema.ts'
import { volumeManagerSchema } from '../../api/schemas/volume-manager.ts'
import type { VolumeConfig, VolumeManager, VolumeManagerStatus } from '../../api/volume-manager.ts'
import type {
  DeletionState,
  DeletionStatus,
  MaintenanceStatus,
  ReplicaState,
  ReplicaStatus,
  UploadStatus,
  VolumeStatus,
} from '../../api/volume-status.ts'
import { defined, isCount, isObject, without } from '../../base/json.ts'
import { toTime } from '../../base/time/timestamp.ts'
import type { VolumeManagerInput } from './input.ts'
import { hostPathFault, isBelow, isPlainPath } from './rules/host-paths.ts'
import { directoryOf, isVolumeDirectory, ownerKey, ownerOfNodeLabel, ownerOfPlace } from './rules/names.ts'
import { revisionOf, sourceTypeOf } from './rules/source-types.ts'
import { fromTime } from './time.ts'

/** The states that this version knows. An object has a table of each, so that none is missing. */
const REPLICA_STATES: Readonly<Record<ReplicaState, true>> = {
  Queued: true,
  Starting: true,
  Downloading: true,
  Ready: true,
  Failed: true,
  Unreachable: true,
  Evicted: true,
}
const UPLOAD_STATES: Readonly<Record<UploadStatus['state'], true>> = { Queued: true, Uploading: true, Failed: true }
const MAINTENANCE_STATES: Readonly<Record<MaintenanceStatus['state'], true>> = {
  Queued: true,
  Running: true,
  Failed: true,
}
const MAINTENANCE_KINDS: Readonly<Record<MaintenanceStatus['kind'], true>> = {
  Check: true,
  FullCheck: true,
  Refresh: true,
}
const DELETION_STATES: Readonly<Record<DeletionState, true>> = {
  Waiting: true,
  Queued: true,
  Deleting: true,
  Failed: true,
}

/** Returns the volumes of a spec: the entries that are objects. The CRD of VCK allows any content. */
export function listConfigs({ spec }: Pick<VolumeManager, 'spec'>): readonly VolumeConfig[] {
  return listObjects(spec?.volumeConfigs)
}

/** Why the volumes of a spec cannot be read; undefined if they can. A volume without a name has no data that could be recognized. */
export function unreadableConfigs({ spec }: Pick<VolumeManager, 'spec'>): string | undefined {
  const configs: unknown = spec?.volumeConfigs ?? []
  if (!Array.isArray(configs)) return 'spec.volumeConfigs: must be a list; correct it'
  const wrong = configs.findIndex((one) => !isObject(one) || typeof one['id'] !== 'string')
  return wrong < 0 ? undefined : `spec.volumeConfigs[${wrong}]: must be an object with an id; correct or remove it`
}

/** Returns the volumes of a status; none of a status whose volumes are no list. */
export function listVolumes({ status }: Pick<VolumeManager, 'status'>): readonly VolumeStatus[] {
  return Array.isArray(status?.volumes) ? status.volumes : []
}

/**
 * Returns a stored status without the values of a wrong type; undefined for one that is no object. The CRD of VCK allows any content. One
 * unreadable entry must not hide its VolumeManager, since the data of a missing one is deleted as a leftover. It must not stop the others
 * either, whose plans read the status of all: for the queue of movers, for evictions and for metrics.
 */
export function readableStatus(status: unknown): VolumeManagerStatus | undefined {
  return isObject(status) ? (readable(status, STATUS) as VolumeManagerStatus) : undefined
}

const STATUS: Schema = volumeManagerSchema.properties?.['status'] ?? {}

/** These are left as they are: without a part of it, an affinity would allow other nodes. */
const UNREAD: ReadonlySet<string> = new Set<keyof VolumeStatus>(['nodeAffinity'])

/** The parts of a value that have the type of the schema; the same value if all have. A part without a schema stays. */
function readable(value: unknown, { type, items, properties }: Schema): unknown {
  if (type === 'object' && isObject(value)) return readableMembers(value, properties ?? {})
  if (type === 'array' && Array.isArray(value)) return items === undefined ? value : readableItems(value, items)
  const isScalar = type !== 'object' && type !== 'array'
  return type === undefined || (isScalar && typeof value === (type === 'integer' ? 'number' : type)) ? value : undefined
}

function readableItems(list: readonly unknown[], items: Schema): readonly unknown[] {
  const read = list.map((item) => readable(item, items))
  const isSame = read.every((item, i) => item !== undefined && item === list[i])
  return isSame ? list : read.filter((item) => item !== undefined)
}

function readableMembers(
  members: Readonly<Record<string, unknown>>,
  properties: Readonly<Record<string, Schema>>,
): Readonly<Record<string, unknown>> {
  const parts: Record<string, unknown> = {}
  for (const [name, schema] of Object.entries(properties)) {
    const value = members[name]
    if (value === undefined || UNREAD.has(name)) continue
    const part = readable(value, schema)
    if (part !== value) parts[name] = part
  }
  // Copied once: it may also have many members that no schema names.
  return Object.keys(parts).length === 0 ? members : defined({ ...members, ...parts })
}

/** The inputs of the plan on which the known part depends. */
type Known = Pick<VolumeManagerInput, 'manager' | 'isManaged' | 'settings' | 'now'>

/** The VolumeManager with its readable volumes, and with the part of its status that its plan may use. */
export function withKnownStatus(input: Known): VolumeManager {
  const { status } = input.manager
  const volumeConfigs = listConfigs(input.manager).filter(({ id }) => typeof id === 'string')
  const manager = { ...input.manager, spec: { ...input.manager.spec, volumeConfigs } }
  if (status === undefined) return manager
  const volumes = listObjects<VolumeStatus>(status.volumes).filter(({ id }) => typeof id === 'string')
  const known = volumes.map((volume) =>
    knownVolume(volume, { ...input, config: volumeConfigs.find(({ id }) => id === volume.id) }),
  )
  return { ...manager, status: { ...status, volumes: known } }
}

/**
 * Whether Lodestone may delete a directory for a VolumeManager. It is its own, or that of an earlier one of the same name, whose mover still
 * ran.
 */
export function mayDelete(
  path: string,
  { manager, isManaged, settings }: Pick<VolumeManagerInput, 'manager' | 'isManaged' | 'settings'>,
): boolean {
  const owner = ownerOfDirectory(path, settings)
  return owner !== undefined && (owner === ownerKey(manager) || !isManaged(owner))
}

/** Whether a directory is one of the VolumeManager, of any of its volumes and sources. */
function isDirectoryOf({ manager, settings }: Pick<Known, 'manager' | 'settings'>, path: string): boolean {
  return ownerOfDirectory(path, settings) === ownerKey(manager)
}

/**
 * The key of the VolumeManager of a directory; undefined for a path that is no such directory, or is inside of one. Outside of the allowed
 * roots, a pod can make a link with that name, for example in an emptyDir. The kubelet follows links.
 */
function ownerOfDirectory(path: string, { allowedRoots }: Known['settings']): string | undefined {
  const isInside = path.split('/').slice(0, -1).some(isVolumeDirectory)
  return isPlainPath(path) && isBelow(path, allowedRoots) && !isInside ? ownerOfPlace(path) : undefined
}

interface VolumeContext extends Known {
  /** Undefined for a volume that is no longer in the spec. */
  config: VolumeConfig | undefined
}

interface ReplicaContext extends VolumeContext {
  /** The revision and the directory of the data in the spec. They are read once, since a digest is of all options. */
  current: { revision: string; path: string | undefined } | undefined
}

function knownVolume(volume: VolumeStatus, context: VolumeContext): VolumeStatus {
  const { manager, config } = context
  const current = config && { revision: revisionOf(config), path: currentPath(manager, config) }
  const replicas = uniqueByIndex(listObjects<ReplicaStatus>(volume.replicas))
    .filter((replica) => isOwnReplica(replica, { ...context, current }))
    .map((replica) => knownReplica(replica, context))
  const deletions = uniqueByIndex(listObjects<DeletionStatus>(volume.deletions))
    .filter(({ node, path }) => isText(node) && isText(path) && mayDelete(path, context))
    .map((deletion) => knownDeletion(deletion, context))
  const used = Math.max(-1, ...[...replicas, ...deletions].map(({ index }) => index))
  const next = isCount(volume.nextIndex) ? volume.nextIndex : 0
  return defined({
    ...volume,
    replicas: replicas.length > 0 ? replicas : undefined,
    deletions: deletions.length > 0 ? deletions : undefined,
    nextIndex: volume.nextIndex === undefined && used < 0 ? undefined : Math.max(next, used + 1),
  })
}

/** Whether the data of a replica is that of the volume: movers read, write and delete its directory. */
function isOwnReplica({ revision, path }: ReplicaStatus, context: ReplicaContext): boolean {
  const { config, current } = context
  if (current !== undefined && revision === current.revision) return path === current.path
  if (path === undefined) return true
  if (!isText(path)) return false
  if (isDirectoryOf(context, path)) return true
  // The data of another path of a `Local` volume. Nothing is written or deleted there, but a mover that checks it mounts it.
  const isPresent = config === undefined || sourceTypeOf(config.sourceType).delivery === 'present'
  return isPresent && hostPathFault(path, 'local', context.settings) === undefined
}

function currentPath(manager: VolumeManager, config: VolumeConfig): string | undefined {
  const { delivery } = sourceTypeOf(config.sourceType)
  if (delivery === 'mounted') return undefined
  return delivery === 'moved' ? directoryOf(manager, config) : config.options?.['path']
}

/** With an unknown state, the next mover looks on the node for the data. An unknown upload or check is decided again. */
function knownReplica(replica: ReplicaStatus, { settings, now }: VolumeContext): ReplicaStatus {
  const { state, upload, maintenance } = replica
  const isKnownUpload = isObject(upload) && has(UPLOAD_STATES, upload.state) && isCount(upload.attempt)
  const isKnownCheck =
    isObject(maintenance) &&
    has(MAINTENANCE_STATES, maintenance.state) &&
    has(MAINTENANCE_KINDS, maintenance.kind) &&
    isCount(maintenance.attempt)
  const longestMs = Math.max(settings.checks.intervalSeconds * 1000, MAX_RETRY_MS)
  return defined({
    ...notLater(replica, now),
    state: has(REPLICA_STATES, state) ? state : 'Queued',
    upload: isKnownUpload ? notLater(upload, now) : undefined,
    maintenance: isKnownCheck ? notLater(withRetry(maintenance, now + longestMs), now) : undefined,
  })
}

/** The times that Lodestone writes by its own clock. The other times of a status are by the clock of a node, or are retry times. */
const TIMES = [
  ...['since', 'progressTime', 'lastUsedTime', 'uploadedTime', 'checkedTime', 'refreshedTime', 'requestedCheckTime'],
] as const

/** The longest wait for a retry that is not a check at its next time. */
const MAX_RETRY_MS = 600_000

/**
 * A part of the status without times in the future. They are by a clock that was ahead: that of another leader, or before it was set back. What
 * began then begins now. Otherwise later changes of pods would count as uploaded, and timeouts and checks would wait for that time.
 */
function notLater<T extends object>(part: T, now: number): T {
  const times = part as Readonly<Record<string, unknown>>
  const isLater = (name: string) => isText(times[name]) && (fromTime(times[name]) ?? now) > now
  const later = TIMES.filter(isLater)
  return later.length === 0 ? part : { ...part, ...Object.fromEntries(later.map((name) => [name, toTime(now)])) }
}

function withRetry(maintenance: MaintenanceStatus, latest: number): MaintenanceStatus {
  return (fromTime(maintenance.retryTime) ?? 0) > latest ? without(maintenance, 'retryTime') : maintenance
}

/** Lodestone removes no label of another owner, so a deletion never waits for one. */
function knownDeletion(deletion: DeletionStatus, { manager, now }: VolumeContext): DeletionStatus {
  const labels: readonly unknown[] = Array.isArray(deletion.nodeLabels) ? deletion.nodeLabels : []
  const isOwn = (label: unknown): label is string => isText(label) && ownerOfNodeLabel(label) === ownerKey(manager)
  return {
    ...notLater(deletion, now),
    nodeLabels: labels.filter(isOwn),
    state: has(DELETION_STATES, deletion.state) ? deletion.state : 'Waiting',
  }
}

function uniqueByIndex<T extends { index: number; attempt: number }>(all: readonly T[]): T[] {
  const indexes = new Set<number>()
  return all.filter(({ index, attempt }) => {
    if (!isCount(index) || !isCount(attempt) || indexes.has(index)) return false
    indexes.add(index)
    return true
  })
}

function listObjects<T>(value: unknown): T[] {
  return Array.isArray(value) ? value.filter(isObject).map((one) => one as T) : []
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function has(table: object, name: unknown): boolean {
  return typeof name === 'string' && Object.hasOwn(table, name)
}
