/** Cancels a mover: by a signal of the operating system, or by the content of its cancel file. */
import { readFile } from 'node:fs/promises'

/** The reason that a canceled mover's signal aborts with. */
export class CancelledError extends Error {
  override name = 'CancelledError'
}

/** A mover must end within 2 s. */
const LOOK_EVERY_MS = 500

export interface CancelWatch {
  readonly signal: AbortSignal
  stop(): void
}

/** Starts to watch. Reads the file once before it resolves, so that a mover that is already canceled does nothing. */
export async function watchCancel(outer: AbortSignal, file: string | undefined): Promise<CancelWatch> {
  const ending = new AbortController()
  const cancel = (how: string) => ending.abort(new CancelledError(`stopped ${how}`))
  const onSignal = () => cancel('by a signal')
  outer.addEventListener('abort', onSignal)
  if (outer.aborted) onSignal()

  const look = async () => {
    if (file !== undefined && (await asksToStop(file))) cancel(`by ${file}`)
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

/** The downward API writes the value of the annotation, or nothing when there is none. */
async function asksToStop(file: string): Promise<boolean> {
  const text = (await readFile(file, 'utf8').catch(() => '')).trim()
  return text !== '' && text !== 'false'
}
