/** Notices that a mover is to stop: by a signal of the system, or by what is in a file, however long it has been there. */
import { readFile } from 'node:fs/promises'

/** The reason that a cancelled mover's signal aborts with. */
export class CancelledError extends Error {
  override name = 'CancelledError'
}

/** A quarter of the time that a mover has to end. */
const LOOK_EVERY_MS = 500

export interface CancelWatch {
  readonly signal: AbortSignal
  stop(): void
}

/** Watches. The file is looked at once before this resolves: a mover that is cancelled from the start does nothing. */
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

/** The downward API writes the value of the annotation, and nothing without one. */
async function asksToStop(file: string): Promise<boolean> {
  const text = (await readFile(file, 'utf8').catch(() => '')).trim()
  return text !== '' && text !== 'false'
}
