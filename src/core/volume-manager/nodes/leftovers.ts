/**
 * Leftovers: data of deleted VolumeManagers whose own movers cannot delete it, since its node is not ready or its namespace is being deleted.
 * The Node has each as an annotation, so a leftover is forgotten only with its node.
 */
import { LEFTOVER_PREFIX } from '../../../api/lodestone.ts'
import type { Node } from '../../../api/node.ts'
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import type { DeletionStatus } from '../../../api/volume-status.ts'
import { fnv1a } from '../../../base/hash.ts'
import { defined, isObject, parseJson, sortedUnique, without } from '../../../base/json.ts'
import { onPresentClock } from '../../../base/time/clock-jumps.ts'
import { earliest } from '../../../base/time/earliest.ts'
import { namesColumn } from '../../columns.ts'
import { type Action, type EventAction, nodePatchOf, type Write } from '../../plan.ts'
import type { VolumeManagerInput } from '../input.ts'
import { LABEL_GRACE_MS } from '../replica/deletion.ts'
import { isBelow, isPlainPath } from '../rules/host-paths.ts'
import { allowsImage } from '../rules/mover-rules.ts'
import { ownerOfPlace } from '../rules/names.ts'
import type { VolumeLimits } from '../rules/settings.ts'
import { fromTime } from '../time.ts'
import { unreadyFor } from './feasibility.ts'

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

/** The most leftovers of one node, and the most bytes of them together: the annotations of an object have at most 256 KiB. */
export const MAX_LEFTOVERS = 100
const MAX_BYTES = 200 * 1024

/** The deletions of one volume. */
interface VolumeDeletions {
  id: string
  config: VolumeConfig | undefined
  set: { deletions: readonly DeletionStatus[] }
}

export interface Skipped {
  actions: Action[]
  /** When the next deletion becomes a leftover, in ms since the epoch; absent when there is none. */
  dueAt?: number | undefined
}

/**
 * Plans a leftover for each deletion on a node that is not ready for too long. In a namespace that is being deleted, every deletion gets one.
 * The deletion ends when the node has it. Only the deletion of a VolumeManager makes leftovers: a VolumeManager that stays remembers its data
 * itself, and may use the node again.
 */
export function skipNodes(input: VolumeManagerInput, plans: readonly VolumeDeletions[]): Skipped {
  const { manager, nodes, now } = input
  const { namespace = '', name = '', uid = '', deletionTimestamp } = manager.metadata
  if (!deletionTimestamp) return { actions: [] }
  const skipped: Skipped = { actions: [] }
  const events = new Map<string, { cause: Cause; id: string; nodes: string[] }>()
  const added = new Map<string, Leftover[]>()
  for (const { id, config, set } of plans) {
    for (const deletion of set.deletions) {
      const { node: nodeName, index, path } = deletion
      const node = nodes.get(nodeName)
      if (!node || isLeftover(node, path)) continue
      const cause = leftoverCause(input, node, deletion, deletionTimestamp)
      if (cause === undefined) continue
      if (now < cause.at) {
        skipped.dueAt = earliest(skipped.dueAt, cause.at)
        continue
      }
      const image = config?.mover?.image
      const leftover = defined({ namespace, name, uid, id, index, path, image })
      const before = added.get(nodeName) ?? []
      const patch = addLeftover(node, leftover, before)
      if (!patch) continue
      added.set(nodeName, [...before, leftover])
      skipped.actions.push(patch)
      const key = `${id}: ${cause.message}`
      const { nodes: others = [] } = events.get(key) ?? {}
      events.set(key, { cause, id, nodes: [...others, nodeName] })
    }
  }
  for (const { cause, id, nodes: names } of events.values()) {
    const message = `${id} on ${namesColumn(sortedUnique(names))}: ${cause.message}`
    skipped.actions.push({ kind: 'event', about: manager, ...cause.event, message })
  }
  return skipped
}

interface Cause {
  /** When the deletion becomes a leftover, in ms since the epoch. */
  at: number
  event: Pick<EventAction, 'type' | 'reason'>
  message: string
}

/** Why and when a deletion becomes a leftover; undefined while a mover of the VolumeManager can delete the data. */
function leftoverCause(
  { terminating, settings, now, jumps }: VolumeManagerInput,
  node: Node,
  { nodeLabels, since, state }: DeletionStatus,
  deletionTimestamp: string,
): Cause | undefined {
  if (terminating) {
    // The patch of the node that removes the label is the next change.
    if (nodeLabels.some((label) => node.metadata.labels?.[label] !== undefined)) return undefined
    return {
      // Every other state begins after that time.
      at: state === 'Waiting' ? (fromTime(since, jumps) ?? now) + LABEL_GRACE_MS : now,
      event: { type: 'Normal', reason: 'DataLeft' },
      message: 'the namespace is being deleted; a mover in another namespace deletes the data',
    }
  }
  const at = skippedAt(node, { settings, deletionTimestamp, now, jumps })
  const message = 'the node is not ready; its data is deleted when it is ready again'
  return at === undefined ? undefined : { at, event: { type: 'Warning', reason: 'NodeSkipped' }, message }
}

/** When the deletion of a VolumeManager skips a node, in ms since the epoch; undefined while the node is ready. */
export function skippedAt(
  node: Node,
  {
    settings,
    deletionTimestamp,
    now,
    jumps,
  }: Pick<VolumeManagerInput, 'settings' | 'now' | 'jumps'> & { deletionTimestamp: string },
): number | undefined {
  const at = unreadyFor(node, settings.deletionNodeTimeoutSeconds, fromTime(deletionTimestamp) ?? now)
  return at && onPresentClock(at, jumps)
}

/** Whether the node has the directory as a leftover. */
export function isLeftover({ metadata }: Node, path: string): boolean {
  return metadata.annotations?.[leftoverAnnotation(path)] !== undefined
}

/** The digests of the leftovers of a node. */
export function leftoverDigests({ metadata }: Pick<Node, 'metadata'>): string[] {
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
  if (!isOwn || !isBelow(path, limits.allowedRoots)) return undefined
  // As for a volume whose image the configuration does not allow any more, the image of the configuration deletes the data.
  return allowsImage(image, limits) ? value : without(value, 'image')
}

function isShaped(value: unknown): value is Leftover {
  if (!isObject(value)) return false
  const { namespace, name, uid, id, index, path, image } = value
  const texts = [namespace, name, uid, id, path, ...(image === undefined ? [] : [image])]
  return Number.isInteger(index) && texts.every((text) => typeof text === 'string')
}

/**
 * The patch that adds a leftover to a node; undefined when the node has too many.
 *
 * @param added those that the same plan adds
 */
export function addLeftover(node: Node, leftover: Leftover, added: readonly Leftover[] = []): Write | undefined {
  const known = Object.entries(node.metadata.annotations ?? {}).filter(([key]) => key.startsWith(LEFTOVER_PREFIX))
  if (known.length + added.length >= MAX_LEFTOVERS) return undefined
  const entry = (one: Leftover): [key: string, text: string] => [leftoverAnnotation(one.path), JSON.stringify(one)]
  const all = [...known, ...added.map(entry), entry(leftover)]
  const bytes = all.flat().reduce((sum, text) => sum + maxBytes(text), 0)
  return bytes > MAX_BYTES ? undefined : patchLeftover(node, ...entry(leftover))
}

/** A character that is not ASCII has at most three bytes. */
function maxBytes(text: string): number {
  return /^\p{ASCII}*$/u.test(text) ? text.length : text.length * 3
}

/** The patch that removes a leftover from a node. */
export function removeLeftover(node: Node, digest: string): Write {
  return patchLeftover(node, LEFTOVER_PREFIX + digest, null)
}

function leftoverAnnotation(path: string): string {
  return LEFTOVER_PREFIX + fnv1a(path)
}

/** Each leftover has its own annotation, so patches of several VolumeManagers do not conflict. */
function patchLeftover(node: Node, key: string, value: string | null): Write {
  return nodePatchOf(node, { annotations: { [key]: value } })
}
