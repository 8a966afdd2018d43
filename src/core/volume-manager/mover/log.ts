/** Reads what a mover reports: the last lines of its log, without control characters and within a limit, and the progress in its Event. */
import { type K8sObject, keyOfObject } from '../../../api/meta.ts'
import type { Pod } from '../../../api/pod.ts'
import { defined, isCount, isObject, parseJson } from '../../../base/json.ts'
import { cut } from '../../outcome.ts'
import type { MoverProgress } from '../input.ts'
import { terminatedState } from './observed-state.ts'
import { type MoverTask, readTask } from './task.ts'

/** The mover that wrote a log, and how it ended. */
export interface MoverLogHead extends Partial<MoverTask> {
  /** `namespace/name`. */
  pod: string
  node?: string
  phase?: string
  exitCode?: number
}

/** Reads from the Pod of a mover which task it had and how it ended. */
export function moverLogHead(pod: Pod): MoverLogHead {
  const { spec, status } = pod
  const exitCode = terminatedState(pod)?.exitCode
  return defined({
    pod: keyOfObject(pod),
    ...readTask(pod),
    node: spec?.nodeName || undefined,
    phase: status?.phase,
    exitCode,
  })
}

const MAX_CHARACTERS = 65_536
const MAX_LINE_LENGTH = 2_048

/** The last lines of a text that are not empty: at most `count`, with at most 64 Ki characters together. */
export function lastLines(text: string, count: number): string[] {
  const lines = text
    .split(/\r?\n/)
    .map((line) => cut(line.replace(/\p{Cc}/gu, ' ').trimEnd(), MAX_LINE_LENGTH))
    .filter((line) => line !== '')
  const kept: string[] = []
  let characters = 0
  for (const line of lines.slice(-count).reverse()) {
    characters += line.length
    if (characters > MAX_CHARACTERS) break
    kept.unshift(line)
  }
  return kept
}

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
  return defined({
    attempt,
    bytes: doneBytes,
    // Before a mover has listed its source, its total is 0.
    totalBytes: isCount(totalBytes) ? totalBytes || undefined : undefined,
    files: isCount(doneFiles) ? doneFiles : 0,
  })
}
