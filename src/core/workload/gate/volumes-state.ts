/** Finds out whether the volumes of an annotation are ready, for what is not a pod yet. */
import { describeErrors } from '../../../base/field-errors.ts'
import { mustWait, volumeTitles } from '../decide-pod.ts'
import type { VolumeManagerLookup } from '../injection/mountable-volumes.ts'
import { resolveRequests, type WantedVolume } from '../requests/resolve.ts'
import { parseVolumeRequests } from '../requests/volume-requests.ts'

export interface VolumesState {
  isReady: boolean
  /** What the pods wait for, then the remedy. */
  message: string
}

/** The message of volumes that are ready. */
export const VOLUMES_READY = 'the data of all required volumes is ready'

/** The message of volumes whose data is not there yet. */
export function waitsFor(waiting: readonly WantedVolume[]): string {
  return `waits for ${volumeTitles(waiting)}`
}

/** Returns the required volumes of an annotation whose data is not there yet; none for an annotation with errors. */
export function awaitedVolumes(annotation: string, managers: VolumeManagerLookup): readonly WantedVolume[] {
  const parsed = parseVolumeRequests(annotation)
  return 'errors' in parsed ? [] : resolveRequests(parsed.requests, managers).wanted.filter(mustWait)
}

/** Returns the state of all volumes that an annotation requests: a pod with it would be created without a gate if they are ready. */
export function volumesState(annotation: string, managers: VolumeManagerLookup): VolumesState {
  const parsed = parseVolumeRequests(annotation)
  if ('errors' in parsed) return { isReady: false, message: describeErrors(parsed.errors) }
  const { wanted, errors, unusable } = resolveRequests(parsed.requests, managers)
  const wrong = [...errors, ...unusable]
  if (wrong.length > 0) return { isReady: false, message: describeErrors(wrong) }
  const waiting = wanted.filter(mustWait)
  return waiting.length > 0 ? { isReady: false, message: waitsFor(waiting) } : { isReady: true, message: VOLUMES_READY }
}
