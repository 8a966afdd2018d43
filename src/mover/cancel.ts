/** Cancels a mover on a signal of the operating system, or when its cancel file requests it. */
import { readFile } from 'node:fs/promises'

/** The reason with which the signal of a canceled mover aborts. */
export class CancelledError extends Error {
  override name = 'CancelledError'
}

/** How often the cancel file is read. A mover must end within 2 s. */
const LOOK_EVERY_MS = 500

export interface CancelWatch {
  readonly signal: AbortSignal
  stop(): void
}

/**
 * Watches the signal and the cancel file. It reads the file once before it resolves, so that a mover that is already canceled does nothing.
 */
export async function watchCancel(outer: AbortSignal, file: string | undefined): Promise<CancelWatch> {
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
