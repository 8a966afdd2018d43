/** Watches a folder. It reports changes from the operating system, and polls for changes that the system does not report. */
import { watch } from 'node:fs'
import type { Clock } from './time/clock.ts'

interface FolderWatchInput {
  directory: string
  /** Whether changes in its folders count as well. Default true. */
  recursive?: boolean
  clock: Clock
  /** Changes come in bursts (an editor empties, writes, renames). One burst is one report, after a pause of this length. */
  debounceMs: number
  /** Interval of reports without a change, for network mounts and dropped watches. Without it, there is no polling. */
  pollMs?: number
  changed(): void
  /** Called when the system cannot watch the folder. Polling continues. */
  failed(error: Error): void
}

/** A burst without a pause is reported after this many times `debounceMs`. */
const MAX_PAUSES = 10

/** Starts the watch. Returns a function that ends it. */
export function watchFolder(input: FolderWatchInput): () => void {
  const { clock } = input
  let burst: { beganAt: number; cancel: () => void } | undefined
  let cancelPoll = schedulePoll()
  const closeWatcher = openWatcher()
  return () => {
    burst?.cancel()
    cancelPoll()
    closeWatcher()
  }

  function openWatcher(): () => void {
    try {
      const watcher = watch(input.directory, { recursive: input.recursive ?? true, persistent: false }, touched)
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
    burst = { beganAt, cancel: clock.after(Math.min(input.debounceMs, restMs), report) }
  }

  function report(): void {
    burst = undefined
    input.changed()
  }

  function schedulePoll(): () => void {
    return input.pollMs === undefined ? () => {} : clock.after(input.pollMs, poll)
  }

  function poll(): void {
    cancelPoll = schedulePoll()
    input.changed()
  }
}
