/** What the directories, node labels and objects of a volume are called: the same at every look, and never the same for two volumes. */
import { objectKey } from '../../../api/meta.ts'
import type { VolumeConfig, VolumeManager } from '../../../api/volume-manager.ts'
import { fnv1a } from '../../hash.ts'
import { revisionOf } from './revision.ts'

/** Where data is put unless the option `dataPath` says otherwise (VCK's default). */
export const DEFAULT_DATA_PATH = '/var/datasets'

/** VCK's prefix of everything that it makes. */
const PREFIX = 'vck-resource-'
/** Its labels on nodes. */
const NODE_LABEL_PREFIX = 'vck.intelai.org/'

type Owner = Pick<VolumeManager, 'metadata'>

/**
 * The directory of a volume on every node that has it: `<dataPath>/vck-resource-<uid>-<digest>`. The uid is the API server's, so nobody
 * can choose to share it; the digest is of the id and the source, so data of another source is never mixed in.
 */
export function directoryOf(manager: Owner, config: VolumeConfig, revision: string = revisionOf(config)): string {
  const root = (config.options?.['dataPath'] || DEFAULT_DATA_PATH).replace(/\/+$/, '')
  return `${root}/${PREFIX}${ownerOf(manager)}-${fnv1a(JSON.stringify([config.id, revision]))}`
}

/** Where in it the data is; beside it the mover keeps what is not whole yet. */
export function dataPathOf(manager: Owner, config: VolumeConfig, revision?: string): string {
  return `${directoryOf(manager, config, revision)}/data`
}

/** What one volume of one manager is called in labels and names, whatever its source: at most 46 characters. */
export function volumeKey(manager: Owner, id: string): string {
  return `${compactOwner(manager)}-${fnv1a(id)}`
}

/**
 * The label of the nodes that have a volume, or one part of it. Never longer than 63 characters behind the slash, and not the same for
 * two volumes: VCK's `<namespace>-<name>-<id>` is both.
 */
export function nodeLabelOf(manager: Owner, id: string, revision: string, shard?: string): string {
  return `${NODE_LABEL_PREFIX}${compactOwner(manager)}-${fnv1a(JSON.stringify([id, revision, shard ?? null]))}`
}

/** What a manager's labels on nodes and objects begin with, as a key to find them by. */
export function ownerKey(manager: Owner): string {
  return compactOwner(manager)
}

const NODE_LABEL = /^vck\.intelai\.org\/([0-9a-z]+)-[0-9a-z]{13}$/
const VOLUME_KEY = /^([0-9a-z]+)-[0-9a-z]{13}$/

/** The key of the manager that a node's label belongs to; undefined for a label that is not ours. */
export function ownerOfNodeLabel(label: string): string | undefined {
  return NODE_LABEL.exec(label)?.[1]
}

/** The key of the manager that an object belongs to, by its label `lodestone.dev/volume`. */
export function ownerOfVolumeKey(key: string): string | undefined {
  return VOLUME_KEY.exec(key)?.[1]
}

/** Names may have characters that end lines. */
const DIRECTORY = /^(\/.*)?\/vck-resource-[^/]+/s
const OWNED = /(?:^|\/)vck-resource-([0-9a-z-]+)-[0-9a-z]{13}$/

/** The key of the manager that a directory or a claim belongs to, by its name. */
export function ownerOfPlace(place: string): string | undefined {
  return OWNED.exec(place)?.[1]?.replaceAll('-', '')
}

/** The directory of a volume that a path is in; undefined for a path that is in none. */
export function directoryAround(path: string): string | undefined {
  return DIRECTORY.exec(path)?.[0]
}

/** Whether the name of a directory is that of a volume's. */
export function isVolumeDirectory(name: string): boolean {
  return name.startsWith(PREFIX)
}

/** The labels of a node that has a replica: the volume's and, for a part of the data, that part's. */
export function nodeLabelsOf(manager: Owner, id: string, revision: string, shard?: string): string[] {
  const whole = nodeLabelOf(manager, id, revision)
  return shard === undefined ? [whole] : [whole, nodeLabelOf(manager, id, revision, shard)]
}

/** The name of the mover of one attempt: whoever makes it twice finds that it exists. */
export function moverName(manager: Owner, id: string, role: string, index: number, attempt: number): string {
  return `${PREFIX}${fnv1a(JSON.stringify([ownerOf(manager), id, role, index]))}-${attempt}`
}

/** The name of the PersistentVolume and the claim of an NFS volume. */
export function claimNameOf(manager: Owner, config: VolumeConfig): string {
  return `${PREFIX}${ownerOf(manager)}-${fnv1a(JSON.stringify([config.id, revisionOf(config)]))}`
}

/** One that no API server has seen has no uid: a manifest that is only looked at. */
function ownerOf({ metadata: { uid, namespace, name = '' } }: Owner): string {
  return uid ?? fnv1a(objectKey(namespace, name))
}

function compactOwner(manager: Owner): string {
  return ownerOf(manager).replaceAll('-', '')
}
