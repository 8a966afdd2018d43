/** The codes of VolumeManagers, in one table with their messages. Decisions read the code, never the message. */
import { DELETE_IN_USE_ANNOTATION } from '../../api/lodestone.ts'
import type { VolumeStatus } from '../../api/volume-status.ts'

/** `reason` of replicas and deletions. Other codes of failed movers come from the mover or its Pod. */
export const MESSAGES = {
  // A replica that waits.
  NoNode: () => 'no node can take the replica now; check nodeAffinity, taints and the movers of the nodes',
  NoClaim: () => 'its PersistentVolumeClaim does not exist yet; it is created when the PersistentVolume is available',
  NameTaken: (kind: string, name: string) =>
    `${kind} ${name} exists, and Lodestone did not create it; delete it, so that Lodestone can create its own`,
  InvalidSpec: () => 'the spec of its volume is invalid; correct it',
  Preempted: () => 'its mover was stopped, because movers of other namespaces wait; the next one continues its work',
  Demanded: () => 'a workload needs the data again',
  NodeGone: (node: string) => `node ${node} was deleted`,
  NodeReplaced: (node: string) => `node ${node} was replaced; a mover checks its data`,
  NodeTaken: (node: string) => `node ${node} has the data already`,
  DeletionPending: (node: string) => `earlier data of the volume on node ${node} is deleted first`,
  BeyondLimit: (nodes: number) => `${nodes} more nodes match; divide them between VolumeManagers with nodeAffinity`,
  CheckWaits: (time: string) => `the requested check begins at ${time}: 10 minutes after the last requested one`,
  // A volume that waits.
  NoEntry: () => 'begins when the data of removed volumes is deleted: the status has no room for more',
  // A replica that is placed.
  Starting: () => 'the mover was created',
  NodeNotReady: (node: string) => `node ${node} is not ready`,
  DiskPressure: (node: string) => `deleted on ${node}, which is short of disk`,
  HighWatermark: (node: string) => `deleted on ${node}, whose disk was used beyond the high watermark`,
  // A deletion that waits.
  InUse: (pods: string) => `in use by ${pods}`,
  Claim: () => 'its PersistentVolume and claim are being deleted',
  NodeLabel: () => 'pods that were scheduled before may still start on the node',
  // A finalizer keeps the Pod of a mover that has ended.
  MoverRunning: (ended: string | undefined) =>
    ended === undefined
      ? 'a mover still writes the data'
      : `the pod ${ended} of an earlier mover still exists; remove its finalizers if it stays`,
  NodeUnready: () => 'the node is not ready',
  // Changes that no mover can write back.
  OtherSource: () =>
    `the spec no longer has their source; restore it, or annotate ${DELETE_IN_USE_ANNOTATION}=true to delete the data without them`,
  // A mover that failed without a code in its termination message.
  PrepareTimeout: (waitedFor: string) => `did not start in time: ${waitedFor}`,
  PathNotMounted: (path: string, node: string, pod: string) =>
    `${path} cannot be mounted on node ${node}; create it, or correct the option path, and see kubectl describe pod ${pod}`,
  // A mover that reports nothing may work all the time.
  Stalled: (hasReported: boolean) =>
    hasReported
      ? 'made no progress for too long'
      : 'reported nothing for too long; let movers write Events: a NetworkPolicy may keep them from the API server',
  PodDeleted: () => 'the mover pod was deleted',
  OOMKilled: () => 'the mover ran out of memory',
  Canceled: () => 'the mover was stopped',
} as const

/** The reason of work whose mover gave its slot to another namespace. */
export const PREEMPTED = 'Preempted' satisfies keyof typeof MESSAGES

/** Reasons of replicas that wait for something other than a slot. */
export const STUCK: ReadonlySet<string | undefined> = new Set(['NoNode', 'NoClaim', 'InvalidSpec', 'OtherSource'])

/** Why data is deleted: `cause` of a deletion. */
export type DeletionCause = 'ScaledDown' | 'Superseded' | 'Moved' | 'Evicted' | 'Abandoned' | 'NoSpace' | 'Removed'

/** Why unused data is evicted: `reason` of a replica that is Evicted. The node is short of disk, or a root is beyond a watermark. */
export type EvictionCause = 'DiskPressure' | 'HighWatermark'

/** The message of a volume that can be used. VCK has no code for it: clients compare with this text. */
export const SUCCESS_MESSAGE = 'success'

/** Whether the volume can be used according to its status. */
export function isDeployed(volume: Pick<VolumeStatus, 'message'> | undefined): boolean {
  return volume?.message === SUCCESS_MESSAGE
}
