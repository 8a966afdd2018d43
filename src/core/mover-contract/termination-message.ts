/** The termination message of a mover: its result as one line of JSON. The kubelet writes it into the status of the Pod. */
import { firstCharacters } from '../../base/first-characters.ts'
import { isCount, isObject, parseJson } from '../../base/json.ts'
import { CONTRACT_VERSION, type MoverDisk, type MoverOutcome, type MoverResult, type MoverVerb } from './contract.ts'

/** The limit of Kubernetes for one container. */
const MAX_TERMINATION_BYTES = 4096

/** Returns the termination message: one line of JSON of at most 4096 bytes. If it is too long, only the message in the result is cut. */
export function terminationMessage(result: MoverResult): string {
  const line = (message: string) => JSON.stringify({ ...result, message })
  if (isShort(line(result.message))) return line(result.message)
  // A binary search finds the longest message that fits. A computed length would be wrong because of escapes and multi-byte characters.
  let [fits, tooLong] = [0, result.message.length]
  while (tooLong - fits > 1) {
    const middle = (fits + tooLong) >> 1
    if (isShort(line(cut(result.message, middle)))) fits = middle
    else tooLong = middle
  }
  return line(cut(result.message, fits))
}

function cut(text: string, length: number): string {
  return `${firstCharacters(text, length)}…`
}

function isShort(text: string): boolean {
  // encodeURIComponent writes a byte that is not plain ASCII as three characters; here they count as one.
  return encodeURIComponent(text.toWellFormed()).replace(/%../g, '_').length <= MAX_TERMINATION_BYTES
}

/** The result of another mover, which may have other failure codes. */
export type ReadMoverResult = Omit<MoverResult, 'code'> & { code?: string }

/** Reads a termination message; undefined if no mover of this version wrote it, for instance for the log of a crash. */
export function readTerminationMessage(text: string): ReadMoverResult | undefined {
  // The kubelet writes the end of the log here if a container ended without a message.
  const value = parseJson(text)
  return isResult(value) ? value : undefined
}

const OUTCOMES: readonly unknown[] = ['completed', 'failed', 'canceled'] satisfies MoverOutcome[]
const VERBS: readonly unknown[] = ['download', 'upload', 'prepare', 'check', 'delete'] satisfies MoverVerb[]

const CODE = /^[A-Z][A-Za-z]{0,62}$/

function isResult(value: unknown): value is ReadMoverResult {
  if (!isObject(value)) return false
  const {
    v,
    verb,
    outcome,
    attempt,
    code,
    retry,
    bytes,
    files,
    movedBytes,
    oldTrees = 0,
    totalBytes = 0,
    disk,
    message,
  } = value
  return (
    v === CONTRACT_VERSION &&
    VERBS.includes(verb) &&
    OUTCOMES.includes(outcome) &&
    [attempt, bytes, files, movedBytes, oldTrees, totalBytes].every(isCount) &&
    (code === undefined || (typeof code === 'string' && CODE.test(code))) &&
    (retry === undefined || typeof retry === 'boolean') &&
    (disk === undefined || isDisk(disk)) &&
    typeof message === 'string'
  )
}

function isDisk(value: unknown): value is MoverDisk {
  return isObject(value) && isCount(value['freeBytes']) && isCount(value['totalBytes'])
}
