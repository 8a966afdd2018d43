/** Tells when something below a folder has changed: at once where the system says so, and by looking again where it does not. */
import { watch } from 'node:fs'
import type { Clock } from './clock.ts'

interface FolderWatchInput {
  directory: string
  /** Whether what is in its folders counts as well. Default true. */
  recursive?: boolean
  clock: Clock
  /** Changes come in bursts (an editor empties, writes, renames): told once, when they have paused for this long. */
  debounceMs: number
  /** Looking again this often covers network mounts and watches that the system dropped. */
  pollMs: number
  changed(): void
  /** The system cannot watch the folder; polling goes on. */
  failed(error: Error): void
}

/** A burst that does not pause is told all the same, after this many times the pause. */
const MAX_PAUSES = 10

/** Begins to watch; the returned function ends it. */
export function watchFolder(input: FolderWatchInput): () => void {
  const { clock } = input
  let burst: { beganAt: number; cancel: () => void } | undefined
  let cancelPoll = clock.after(input.pollMs, poll)
  const closeWatcher = openWatcher()
  return () => {
    burst?.cancel()
    cancelPoll()
    closeWatcher()
  }

  function openWatcher(): () => void {
    try {
      const watcher = watch(input.directory, { recursive: input.recursive ?? true }, touched)
      watcher.on('error', input.failed)
      return () => watcher.close()
    } catch (error) {
      input.failed(error as Error)
      return () => {}
    }
  }

  function touched(): void {
    burst?.cancel()
    const beganAt = burst?.beganAt ?? clock.now()
    const restMs = Math.max(0, beganAt + MAX_PAUSES * input.debounceMs - clock.now())
    burst = { beganAt, cancel: clock.after(Math.min(input.debounceMs, restMs), tell) }
  }

  function tell(): void {
    burst = undefined
    input.changed()
  }

  function poll(): void {
    cancelPoll = clock.after(input.pollMs, poll)
    input.changed()
  }
}
