/** How far a mover is, by the Event that it keeps current. */
import type { K8sObject } from '../../../api/meta.ts'
import { isCount, isObject } from '../../json.ts'
import type { MoverProgress } from '../input.ts'

/** The Event in which a mover tells how far it is; one object per pod, that it patches. */
export function progressEventName(pod: string): string {
  return `${pod}.data-path-progress`
}

/** What it says; undefined for what is no progress that can be read. Only informs: nothing is right or wrong because of it. */
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
