/** A log file for tests, a new one for each test. */
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import { temporaryFolder } from '../../test/temporary-folder.ts'

/** Returns the descriptor of the open file and its content. */
export function useLogFile(): { fd: () => number; written: () => string } {
  let folder = ''
  let fd = 0
  beforeEach(() => {
    folder = temporaryFolder()
    fd = openSync(join(folder, 'log'), 'w')
  })
  afterEach(() => closeSync(fd))
  return { fd: () => fd, written: () => readFileSync(join(folder, 'log'), 'utf8') }
}
