/** The writes of a plan beside its movers that a quota or a policy may reject, and what the status says about them. */
import { nodes } from '../../api/node.ts'
import { persistentVolumeClaims, persistentVolumes } from '../../api/persistent-volume.ts'
import type { ReplicaStatus } from '../../api/volume-status.ts'
import { cut } from '../outcome.ts'
import type { Action } from '../plan.ts'
import { REJECTED } from './mover/observed-state.ts'

/** A rejected write that is planned again. */
export interface RejectedWrite {
  /** The object, e.g. `Node n1`. */
  object: string
  /** With the reason of the API server. */
  message: string
}

const TYPES = [nodes, persistentVolumes, persistentVolumeClaims]

/** The object of such a write, as a key; undefined for any other action. */
export function rejectableObject(action: Action): string | undefined {
  if (action.kind === 'event') return undefined
  const { kind } = action.kind === 'patch' ? action.of.type : action.type
  const name = action.kind === 'patch' ? action.of.name : action.object.metadata.name
  return TYPES.some((type) => type.kind === kind) ? `${kind} ${name}` : undefined
}

/** In characters: the API server and its webhooks write the reason. */
const MAX_LENGTH = 512

/**
 * Returns the rejected writes among the actions of a plan, one for each object.
 *
 * @param rejections the objects whose last write was rejected, with the reason
 */
export function rejectedAmong(
  actions: readonly Action[],
  rejections: ReadonlyMap<string, string> = new Map(),
): RejectedWrite[] {
  const objects = new Set(actions.flatMap((action) => rejectableObject(action) ?? []))
  return [...objects].flatMap((object): RejectedWrite[] => {
    const reason = rejections.get(object)
    return reason === undefined ? [] : [{ object, message: `${object}: ${REJECTED}: ${cut(reason, MAX_LENGTH)}` }]
  })
}

/** Whether pods cannot use the data because of rejected writes: no node with data has its label. */
export function areBlocking(rejected: readonly RejectedWrite[], replicas: readonly ReplicaStatus[]): boolean {
  const keys = new Set(rejected.map(({ object }) => object))
  const ready = replicas.filter(({ state, node }) => state === 'Ready' && node !== undefined)
  return ready.length > 0 && ready.every(({ node }) => keys.has(`${nodes.kind} ${node}`))
}
