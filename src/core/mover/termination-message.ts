/** The termination message of a mover: its result as one line of JSON, which the kubelet puts into the status of the Pod. */
import { isCount, isObject } from '../json.ts'
import { CONTRACT_VERSION, type MoverOutcome, type MoverResult, type MoverVerb } from './contract.ts'

/** As much as Kubernetes takes of one container. */
const MAX_TERMINATION_BYTES = 4096

/** The termination message: one line of JSON of at most 4096 bytes. The text in it is cut when it is too long, never the JSON. */
export function terminationMessage(result: MoverResult): string {
  const line = (message: string) => JSON.stringify({ ...result, message })
  if (isShort(line(result.message))) return line(result.message)
  // Halving the range finds the longest text that fits; escapes and characters of several bytes make a division wrong.
  let [fits, tooLong] = [0, result.message.length]
  while (tooLong - fits > 1) {
    const middle = (fits + tooLong) >> 1
    if (isShort(line(cut(result.message, middle)))) fits = middle
    else tooLong = middle
  }
  return line(cut(result.message, fits))
}

function cut(text: string, length: number): string {
  return `${text.slice(0, length).replace(/[\uD800-\uDBFF]$/, '')}…`
}

function isShort(text: string): boolean {
  // encodeURIComponent writes every byte that is not plain as three characters.
  return encodeURIComponent(text.toWellFormed()).replace(/%../g, '_').length <= MAX_TERMINATION_BYTES
}

/** As it is read: another mover may have codes of its own. */
export type ReadMoverResult = Omit<MoverResult, 'code'> & { code?: string }

/** Reads a termination message; undefined for anything that no mover of this version wrote, such as the last lines of a crash. */
export function readTerminationMessage(text: string): ReadMoverResult | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // The kubelet puts the end of the log here when a container died without a message.
    return undefined
  }
  return isResult(value) ? value : undefined
}

const OUTCOMES: readonly unknown[] = ['completed', 'failed', 'canceled'] satisfies MoverOutcome[]
const VERBS: readonly unknown[] = ['download', 'upload', 'prepare', 'delete'] satisfies MoverVerb[]

const CODE = /^[A-Z][A-Za-z]{0,62}$/

function isResult(value: unknown): value is ReadMoverResult {
  if (!isObject(value)) return false
  const { v, verb, outcome, attempt, code, retry, bytes, files, movedBytes, message } = value
  return (
    v === CONTRACT_VERSION &&
    VERBS.includes(verb) &&
    OUTCOMES.includes(outcome) &&
    [attempt, bytes, files, movedBytes].every(isCount) &&
    (code === undefined || (typeof code === 'string' && CODE.test(code))) &&
    (retry === undefined || typeof retry === 'boolean') &&
    typeof message === 'string'
  )
}
