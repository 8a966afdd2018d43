/**
 * Leftovers: data of deleted VolumeManagers on nodes that were not ready, and of VolumeManagers that were deleted with their namespace. The
 * Node has each as an annotation, so a leftover is forgotten only with its node.
 */
import { LEFTOVER_PREFIX } from '../../../api/lodestone.ts'
import { type Node, nodes } from '../../../api/node.ts'
import { fnv1a } from '../../../base/hash.ts'
import { isObject, parseJson } from '../../../base/json.ts'
import type { Write } from '../../plan.ts'
import { isBelow, isPlainPath } from '../rules/host-paths.ts'
import { allowsImage } from '../rules/mover-rules.ts'
import { ownerOfPlace } from '../rules/names.ts'
import type { VolumeLimits } from '../rules/settings.ts'

export interface Leftover {
  /** Namespace, name and uid of the VolumeManager. */
  namespace: string
  name: string
  uid: string
  /** The id of the volume. */
  id: string
  /** The index of the deletion, which is part of the name of the mover. */
  index: number
  /** The directory on the node. */
  path: string
  /** The image of the movers of the volume, when it is not that of the configuration. */
  image?: string
}

/** The most leftovers of one node, since the annotations of an object have at most 256 KiB. */
export const MAX_LEFTOVERS = 100
/** The most characters of one leftover. */
const MAX_LENGTH = 2048

/** Whether the node has the directory as a leftover. */
export function isLeftover({ metadata }: Node, path: string): boolean {
  return metadata.annotations?.[annotationOf(path)] !== undefined
}

/** The digests of the leftovers of a node. */
export function leftoversOf({ metadata }: Pick<Node, 'metadata'>): string[] {
  return Object.keys(metadata.annotations ?? {})
    .filter((key) => key.startsWith(LEFTOVER_PREFIX))
    .map((key) => key.slice(LEFTOVER_PREFIX.length))
}

/** The key of a leftover in the loop, and in the tasks of its movers. It has no slash, unlike the key of a VolumeManager. */
export function leftoverKey(node: string, digest: string): string {
  return `${node}:${digest}`
}

/** The node and the digest of a key. */
export function splitLeftoverKey(key: string): { node: string; digest: string } {
  const [node = '', digest = ''] = key.split(':')
  return { node, digest }
}

/**
 * Reads a leftover of a node by its digest. Returns undefined for one that Lodestone did not write: the kubelet may write annotations too,
 * and only directories of volumes are deleted.
 */
export function readLeftover({ metadata }: Node, digest: string, limits: VolumeLimits): Leftover | undefined {
  const value = parseJson(metadata.annotations?.[LEFTOVER_PREFIX + digest])
  if (!isShaped(value)) return undefined
  const { path, uid, image } = value
  const isOwn = fnv1a(path) === digest && isPlainPath(path) && ownerOfPlace(path) === uid.replaceAll('-', '')
  return isOwn && isBelow(path, limits.allowedRoots) && allowsImage(image, limits) ? value : undefined
}

function isShaped(value: unknown): value is Leftover {
  if (!isObject(value)) return false
  const { namespace, name, uid, id, index, path, image } = value
  const texts = [namespace, name, uid, id, path, ...(image === undefined ? [] : [image])]
  return Number.isInteger(index) && texts.every((text) => typeof text === 'string')
}

/**
 * The patch that adds a leftover to a node; undefined when the node has too many, or when the leftover is too long.
 *
 * @param most how many leftovers the node may have, without those that the same plan adds
 */
export function addLeftover(node: Node, leftover: Leftover, most: number = MAX_LEFTOVERS): Write | undefined {
  const text = JSON.stringify(leftover)
  if (text.length > MAX_LENGTH || leftoversOf(node).length >= most) return undefined
  return patchOf(node, annotationOf(leftover.path), text)
}

/** The patch that removes a leftover from a node. */
export function removeLeftover(node: Node, digest: string): Write {
  return patchOf(node, LEFTOVER_PREFIX + digest, null)
}

function annotationOf(path: string): string {
  return LEFTOVER_PREFIX + fnv1a(path)
}

/** Each leftover has its own annotation, so patches of several VolumeManagers do not conflict. */
function patchOf({ metadata: { name = '', uid } }: Node, key: string, value: string | null): Write {
  return {
    kind: 'patch',
    of: { type: nodes, name },
    patch: { metadata: { ...(uid && { uid }), annotations: { [key]: value } } },
  }
}
