/** Folders for the files of a test. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** Creates a folder until the end of the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'lodestone-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
