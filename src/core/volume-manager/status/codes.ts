/** The codes of what a deletion of data waits for, each with its message. Decisions read the code, never the message. */
import type { VolumeStatus } from '../../../api/volume-manager.ts'

export const WAIT_MESSAGES = {
  InUse: (pods: string) => `in use by ${pods}`,
  NodeLabel: () => 'pods may still be on their way to the node',
  MoverRunning: () => 'a mover is still writing it',
} as const

/** The message of a volume that can be used. VCK has no code for it: clients compare with this text. */
export const SUCCESS_MESSAGE = 'success'

/** Whether a status says that the volume can be used. */
export function isDeployed(volume: Pick<VolumeStatus, 'message'> | undefined): boolean {
  return volume?.message === SUCCESS_MESSAGE
}
