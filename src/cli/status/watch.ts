/** Prints the status again after each change. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ObjectStore } from '../../store/store.ts'
import type { CommandIo } from '../command.ts'
import type { OutputFormat } from '../output.ts'

/** The time between two looks for changes. */
const REFRESH_MS = 500

/** Text in place of the last one, at a terminal. */
const CLEAR = '\u001b[H\u001b[2J'

/**
 * Prints the status, and prints it again when it changed, until the user stops it. At a terminal, the new text replaces the old one.
 * A reader that pauses gets the last status when it continues: the ones between would fill the memory.
 *
 * @param render returns the current status; it is not called again before it has resolved
 */
export async function watchStatus(
  store: ObjectStore,
  { stdout, signal }: CommandIo,
  render: () => Promise<string>,
  format: OutputFormat,
): Promise<void> {
  const isText = format === 'text' || format === 'wide'
  const separator = isText ? (stdout.isTTY ? CLEAR : '\n') : format === 'yaml' ? '---\n' : ''
  let isChanged = true
  const unsubscribe = store.subscribe(() => {
    isChanged = true
  })
  let last: string | undefined
  try {
    for (;;) {
      if (isChanged && !stdout.writableNeedDrain) {
        isChanged = false
        const text = await render()
        if (text !== last) stdout.write(last === undefined ? text : `${separator}${text}`)
        last = text
      }
      // The timer keeps the process alive; the watch of a folder does not.
      await sleep(REFRESH_MS, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) return
    }
  } finally {
    unsubscribe()
  }
}
