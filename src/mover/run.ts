/** Runs one task of a mover, from its first Event to its result. A signal or the cancel file ends it early. */
import { readFile, writeFile } from 'node:fs/promises'
import { defined } from '../base/json.ts'
import { formatBytes } from '../base/quantity.ts'
import {
  CONTRACT_VERSION,
  FAILURES,
  type MoverDisk,
  type MoverMoment,
  type MoverOutcome,
  type MoverResult,
  type MoverVerb,
} from '../core/mover-contract/contract.ts'
import { terminationMessage } from '../core/mover-contract/termination-message.ts'
import type { Done } from './download/download.ts'
import type { EventReporter } from './events.ts'
import { asMoverError, MoverError } from './mover-error.ts'
import { Progress } from './progress.ts'

export interface MoverRun {
  verb: MoverVerb
  attempt: number
  work: (progress: Progress, signal: AbortSignal) => Promise<Done>
}

export interface MoverIo {
  /** Aborts on SIGTERM or SIGINT. */
  signal: AbortSignal
  cancelFile?: string | undefined
  /** The file in which the kubelet reads the termination message; absent outside a Pod. */
  terminationLog?: string | undefined
  events?: EventReporter | undefined
  log: (level: 'info' | 'warn' | 'error', fields: object, message: string) => void
  progressEveryMs?: number
  /** Reads the disk of the data when the work has ended. */
  readDisk?: () => Promise<MoverDisk | undefined>
}

const PROGRESS_EVERY_MS = 10_000
/** Time for the last Events. A canceled mover must end within 2 s. */
const FLUSH_MS: Readonly<Record<MoverOutcome, number>> = { completed: 10_000, failed: 10_000, canceled: 1_000 }

/** Runs the work and reports it. It never throws: errors are in the result, in the termination log and in the Events. */
export async function runMover({ verb, attempt, work }: MoverRun, io: MoverIo): Promise<MoverResult> {
  const progress = new Progress()
  const cancel = await watchCancel(io.signal, io.cancelFile)

  function report(moment: MoverMoment, message: string): void {
    const counts = progress.counts()
    io.log(moment === 'failed' ? 'error' : 'info', { verb, attempt, moment, ...counts }, message)
    io.events?.report({ moment, message, ...counts })
  }

  async function attemptWork(): Promise<MoverResult> {
    const result = { v: CONTRACT_VERSION, verb, attempt, bytes: 0, files: 0 } as const
    try {
      cancel.signal.throwIfAborted()
      report('started', `${verb} begins, attempt ${attempt}`)
      const done = await work(progress, cancel.signal)
      return { ...result, ...done, outcome: 'completed', movedBytes: progress.movedBytes }
    } catch (error) {
      const { doneBytes: bytes, doneFiles: files, totalBytes } = progress.counts()
      const partly = { ...result, bytes, files, movedBytes: progress.movedBytes }
      // Any error after the cancellation counts as the cancellation.
      if (cancel.signal.aborted) {
        const { message } = cancel.signal.reason as CancelledError
        return { ...partly, outcome: 'canceled', message: `${message}, after ${formatBytes(bytes)}` }
      }
      const { code, message, cause } = asMoverError(error)
      io.log('error', { code, err: cause ?? error }, message)
      const listed = totalBytes > 0 ? { totalBytes } : {}
      return { ...partly, ...listed, outcome: 'failed', code, ...FAILURES[code], message }
    }
  }

  const onCancel = () => report('cancelling', (cancel.signal.reason as CancelledError).message)
  cancel.signal.addEventListener('abort', onCancel)
  const timer = setInterval(() => report('progress', describe(progress)), io.progressEveryMs ?? PROGRESS_EVERY_MS)
  const attempted = await attemptWork()
  clearInterval(timer)
  cancel.signal.removeEventListener('abort', onCancel)
  cancel.stop()

  const disk = await io.readDisk?.()
  const result = await writeResult({ ...attempted, ...defined({ disk }) }, io)
  report(result.outcome, result.message)
  report('stopped', `${verb} ${result.outcome}`)
  await io.events?.flush(FLUSH_MS[result.outcome])
  return result
}

function describe(progress: Progress): string {
  const { doneBytes, totalBytes, doneFiles, totalFiles } = progress.counts()
  const of = (done: string | number, total: string | number) => (totalFiles === 0 ? `${done}` : `${done} of ${total}`)
  return `${of(formatBytes(doneBytes), formatBytes(totalBytes))}, ${of(doneFiles, totalFiles)} files`
}

/** Writes the termination message, before the last Events: the controller decides by it. A success that cannot be reported is a failure. */
async function writeResult(result: MoverResult, { terminationLog, log }: MoverIo): Promise<MoverResult> {
  if (terminationLog === undefined) return result
  try {
    await writeFile(terminationLog, terminationMessage(result))
    return result
  } catch (error) {
    const { message } = new MoverError('Unexpected', `${terminationLog}: ${(error as Error).message}`)
    log('error', { err: error }, 'the termination message cannot be written')
    if (result.outcome !== 'completed') return result
    return { ...result, outcome: 'failed', code: 'Unexpected', ...FAILURES.Unexpected, message }
  }
}

/** The reason with which the signal of a canceled mover aborts. */
class CancelledError extends Error {
  override name = 'CancelledError'
}

/** How often the cancel file is read. A mover must end within 2 s. */
const LOOK_EVERY_MS = 500

interface CancelWatch {
  readonly signal: AbortSignal
  stop(): void
}

/**
 * Watches the signal and the cancel file. It reads the file once before it resolves, so that a mover that is already canceled does nothing.
 */
async function watchCancel(outer: AbortSignal, file: string | undefined): Promise<CancelWatch> {
  const ending = new AbortController()
  const cancel = (how: string) => ending.abort(new CancelledError(`stopped ${how}`))
  const onSignal = () => cancel('by a signal')
  outer.addEventListener('abort', onSignal)
  if (outer.aborted) onSignal()

  const look = async () => {
    if (file !== undefined && (await isCancelRequested(file))) cancel(`by ${file}`)
  }
  await look()
  const timer = file === undefined ? undefined : setInterval(() => void look(), LOOK_EVERY_MS)
  return {
    signal: ending.signal,
    stop() {
      clearInterval(timer)
      outer.removeEventListener('abort', onSignal)
    },
  }
}

/** Whether the file requests cancellation. The downward API writes the value of the annotation, or an empty file without the annotation. */
async function isCancelRequested(file: string): Promise<boolean> {
  const text = (await readFile(file, 'utf8').catch(() => '')).trim()
  return text !== '' && text !== 'false'
}
