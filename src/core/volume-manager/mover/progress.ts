/** Reads the progress of a mover from the Event that the mover updates. */
import type { K8sObject } from '../../../api/meta.ts'
import { isCount, isObject, parseJson } from '../../../base/json.ts'
import type { MoverProgress } from '../input.ts'

/** The name of the Event with the progress of a mover. A mover patches one Event only. */
export function progressEventName(pod: string): string {
  return `${pod}.data-path-progress`
}

/** Parses the progress in an Event; undefined when the Event is missing or its message is invalid. */
export function readProgress(event: K8sObject | undefined): MoverProgress | undefined {
  const { message } = (event ?? {}) as { message?: unknown }
  const parsed = parseJson(message)
  if (!isObject(parsed)) return undefined
  const { attempt, doneBytes, totalBytes, doneFiles } = parsed
  if (!isCount(attempt) || !isCount(doneBytes)) return undefined
  return {
    attempt,
    bytes: doneBytes,
    ...(isCount(totalBytes) && { totalBytes }),
    files: isCount(doneFiles) ? doneFiles : 0,
  }
}
