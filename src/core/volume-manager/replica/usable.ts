/** Whether a replica can be used. */
import type { ReplicaStatus } from '../../../api/volume-manager.ts'

/** When all of it is there; of a stream, from the first bytes on: whoever reads it waits for the rest. */
export function isUsable({ state, bytes = 0, node }: ReplicaStatus, sourceType: string | undefined): boolean {
  return state === 'Ready' || (sourceType === 'Stream' && state === 'Downloading' && bytes > 0 && node !== undefined)
}
