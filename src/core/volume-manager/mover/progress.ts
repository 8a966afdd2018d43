/** Reads the progress of a mover from the Event that it keeps current. */
import type { K8sObject } from '../../../api/meta.ts'
import { isCount, isObject } from '../../json.ts'
import type { MoverProgress } from '../input.ts'

/** The name of the Event with the progress of a mover: one object per Pod, which the mover patches. */
export function progressEventName(pod: string): string {
  return `${pod}.data-path-progress`
}

/** The progress; undefined when the Event has none that can be read. It informs only: an invalid one is no error. */
export function readProgress(event: K8sObject | undefined): MoverProgress | undefined {
  const { message } = (event ?? {}) as { message?: unknown }
  if (typeof message !== 'string') return undefined
  let said: unknown
  try {
    said = JSON.parse(message)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return undefined
  }
  if (!isObject(said)) return undefined
  const { attempt, doneBytes, totalBytes, doneFiles } = said
  if (!isCount(attempt) || !isCount(doneBytes)) return undefined
  return {
    attempt,
    bytes: doneBytes,
    ...(isCount(totalBytes) && { totalBytes }),
    files: isCount(doneFiles) ? doneFiles : 0,
  }
}
