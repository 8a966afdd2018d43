/** What of a mover's log is worth keeping: its last lines, without what a terminal would obey, within a limit of bytes. */

import { keyOfObject } from '../../../api/meta.ts'
import type { Pod } from '../../../api/pod.ts'
import { cut } from '../../outcome.ts'
import { type MoverTask, readTask } from './task.ts'

/** Of whom a log is, and how that mover ended. */
export interface MoverLogHead extends Partial<MoverTask> {
  /** `namespace/name`. */
  pod: string
  node?: string
  phase?: string
  exitCode?: number
}

export function moverLogHead(pod: Pod): MoverLogHead {
  const { spec, status } = pod
  const exitCode = status?.containerStatuses?.[0]?.state?.terminated?.exitCode
  return {
    pod: keyOfObject(pod),
    ...readTask(pod),
    ...(spec?.nodeName && { node: spec.nodeName }),
    ...(status?.phase && { phase: status.phase }),
    ...(exitCode !== undefined && { exitCode }),
  }
}

const MAX_CHARACTERS = 65_536
const MAX_LINE_LENGTH = 2_048

/** The last lines of a text, `count` at most and together no more than 64 Ki characters; empty ones are none. */
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
