/** A log file for tests, a new one for each test. */
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'

/** Returns the descriptor of the open file and its content. */
export function useLogFile(): { fd: () => number; written: () => string } {
  let folder = ''
  let fd = 0
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'lodestone-log-'))
    fd = openSync(join(folder, 'log'), 'w')
  })
  afterEach(() => {
    closeSync(fd)
    rmSync(folder, { recursive: true })
  })
  return { fd: () => fd, written: () => readFileSync(join(folder, 'log'), 'utf8') }
}
