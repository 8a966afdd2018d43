/** The names of directories, node labels and objects of a volume: stable, and unique to the volume. */
import { VOLUME_LABEL } from '../../../api/lodestone.ts'
import { type ObjectMeta, objectKey } from '../../../api/meta.ts'
import type { VolumeConfig, VolumeManager } from '../../../api/volume-manager.ts'
import type { ReplicaStatus } from '../../../api/volume-status.ts'
import { fnv1a } from '../../../base/hash.ts'
import { withoutTrailingSlashes } from '../../../base/net/url-encoding.ts'
import { revisionOf } from './source-types.ts'

/** The default of the option `dataPath`, as in VCK. */
export const DEFAULT_DATA_PATH = '/var/datasets'

/** VCK's prefix of all names. */
const PREFIX = 'vck-resource-'
/** VCK's prefix of node labels. */
const NODE_LABEL_PREFIX = 'vck.intelai.org/'

type Owner = Pick<VolumeManager, 'metadata'>

/**
 * The directory of a volume on every node that has it: `<dataPath>/vck-resource-<uid>-<digest>`. The API server sets the uid, so no user
 * can choose the directory of another VolumeManager. The digest is of the id and the source, so that data of two sources is never mixed.
 */
export function directoryOf(manager: Owner, config: VolumeConfig, revision: string = revisionOf(config)): string {
  // The CRD of VCK allows any content, which is reported later.
  const dataPath: unknown = config.options?.['dataPath']
  const root = withoutTrailingSlashes((typeof dataPath === 'string' && dataPath) || DEFAULT_DATA_PATH)
  return `${root}/${PREFIX}${ownerId(manager)}-${fnv1a(JSON.stringify([config.id, revision]))}`
}

/** The directory of complete data, inside the directory of a volume. The mover keeps incomplete data beside it. */
export function dataPathOf(manager: Owner, config: VolumeConfig, revision?: string): string {
  return `${directoryOf(manager, config, revision)}/data`
}

/** The key of one volume of one VolumeManager in labels, independent of its source: at most 46 characters. */
export function volumeKey(manager: Owner, id: string): string {
  return `${compactOwner(manager)}-${fnv1a(id)}`
}

/**
 * The label of the nodes that have a volume, or one shard of it. It is unique and has at most 63 characters after the slash, unlike VCK's
 * `<namespace>-<name>-<id>`.
 */
export function nodeLabelOf(manager: Owner, id: string, revision: string, shard?: string): string {
  return `${NODE_LABEL_PREFIX}${compactOwner(manager)}-${fnv1a(JSON.stringify([id, revision, shard ?? null]))}`
}

/** The key of a VolumeManager: the first part of its labels on nodes and objects. */
export function ownerKey(manager: Owner): string {
  return compactOwner(manager)
}

const NODE_LABEL = /^vck\.intelai\.org\/([0-9a-z]+)-[0-9a-z]{13}$/
const VOLUME_KEY = /^([0-9a-z]+)-[0-9a-z]{13}$/

/** The key of the VolumeManager that a node label belongs to; undefined for another label. */
export function ownerOfNodeLabel(label: string): string | undefined {
  return NODE_LABEL.exec(label)?.[1]
}

/** The key of the VolumeManager in a value of the label `lodestone.dev/volume`. */
export function ownerOfVolumeKey(key: string): string | undefined {
  return VOLUME_KEY.exec(key)?.[1]
}

/** With the flag `s`, because names may have line breaks. */
const DIRECTORY = /^(\/.*)?\/vck-resource-[^/]+/s
const OWNED = /(?:^|\/)vck-resource-([0-9a-z-]+)-[0-9a-z]{13}$/

/** The key of the VolumeManager that a directory or a claim belongs to, by its name. */
export function ownerOfPlace(place: string): string | undefined {
  return OWNED.exec(place)?.[1]?.replaceAll('-', '')
}

/**
 * The key of the VolumeManager for which Lodestone created a PersistentVolume or a claim; undefined for any other. Its label and its name agree, since
 * a user may copy the labels to another object.
 */
export function ownerOfObject({ labels, name = '' }: ObjectMeta): string | undefined {
  const owner = ownerOfVolumeKey(labels?.[VOLUME_LABEL] ?? '')
  return owner === ownerOfPlace(name) ? owner : undefined
}

/** The directory of the volume that a path is in; undefined for a path outside such directories. */
export function directoryAround(path: string): string | undefined {
  return DIRECTORY.exec(path)?.[0]
}

/** A directory of a node as a key. */
export function placeKey({ node, path }: { node: string; path: string }): string {
  return `${node}:${path}`
}

/** Whether Lodestone created the directory. The directory of a `Local` volume belongs to the user. */
export function isOfVolume(path: string): boolean {
  return directoryAround(path) !== undefined
}

/** Whether the name is that of a directory of a volume. */
export function isVolumeDirectory(name: string): boolean {
  return name.startsWith(PREFIX)
}

/** The labels of a node that has a replica: the volume's and, for a shard of the data, that shard's. */
export function nodeLabelsOf(manager: Owner, id: string, revision: string, shard?: string): string[] {
  const whole = nodeLabelOf(manager, id, revision)
  return shard === undefined ? [whole] : [whole, nodeLabelOf(manager, id, revision, shard)]
}

/** Returns a function that gives the labels of the node of a replica; none for a replica without a directory. */
export function nodeLabelsFor(
  manager: Owner,
  id: string,
): (replica: Pick<ReplicaStatus, 'revision' | 'shard' | 'path'>) => string[] {
  return ({ revision, shard, path }) => (path === undefined ? [] : nodeLabelsOf(manager, id, revision, shard))
}

interface MoverAttempt {
  /** The id of the volume. */
  id: string
  role: string
  index: number
  attempt: number
}

/** The name of the mover of one attempt. The name is deterministic, so that a second creation fails. */
export function moverName(manager: Owner, { id, role, index, attempt }: MoverAttempt): string {
  return `${PREFIX}${fnv1a(JSON.stringify([ownerId(manager), id, role, index]))}-${attempt}`
}

/** The name of the PersistentVolume and the claim of an NFS volume. */
export function claimNameOf(manager: Owner, config: VolumeConfig): string {
  return `${PREFIX}${ownerId(manager)}-${fnv1a(JSON.stringify([config.id, revisionOf(config)]))}`
}

/** The name of the PersistentVolume and the claim of one replica. It is known before the replica has a node. */
export function replicaClaimName(manager: Owner, id: string, revision: string, index: number): string {
  return `${PREFIX}${ownerId(manager)}-${fnv1a(JSON.stringify([id, revision, index]))}`
}

/** The uid, or a hash of the name for a manifest that is not stored. */
function ownerId({ metadata: { uid, namespace, name = '' } }: Owner): string {
  return uid ?? fnv1a(objectKey(namespace, name))
}

function compactOwner(manager: Owner): string {
  return ownerId(manager).replaceAll('-', '')
}
