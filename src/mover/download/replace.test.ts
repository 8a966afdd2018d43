/** Tests that a replacement does without links where a file can have none. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../../../test/temporary-folder.ts'
import { Progress } from '../progress.ts'
import type { ChecksumLog } from './checksums.ts'
import { entryId, type Manifest } from './manifest.ts'
import { reuseFiles } from './replace.ts'

const MEMORY = '/dev/shm'
const hasTwoDisks = existsSync(MEMORY) && statSync(MEMORY).dev !== statSync(tmpdir()).dev

const ENTRY = { key: 'raw/a', path: 'a', size: 5, etag: 'e' }

/** Reuses the file of a dataset whose new tree is in the temporary folder of the system. */
async function reuseFrom(target: string) {
  const state = temporaryFolder()
  const folder = join(state, 'files')
  mkdirSync(folder)
  writeFileSync(join(state, 'manifest'), `${JSON.stringify(ENTRY)}\n`)
  writeFileSync(join(target, 'a'), 'first')
  const manifest = {
    async *entries() {
      yield ENTRY
    },
  } as unknown as Manifest
  const fresh = { manifest, folder, checksums: {} as ChecksumLog }
  const published = { target, state, files: target, parts: '' }
  const reused = await reuseFiles(published, fresh, false, new Progress(), new AbortController().signal)
  return { reused: [...reused], linked: readdirSync(folder) }
}

test('an unchanged file is linked', async () => {
  expect(await reuseFrom(temporaryFolder())).toEqual({ reused: [entryId(ENTRY)], linked: ['a'] })
})

test.runIf(hasTwoDisks)('a file that cannot be linked is left to the download', async () => {
  const target = mkdtempSync(join(MEMORY, 'lodestone-test-'))
  onTestFinished(() => rmSync(target, { recursive: true, force: true }))

  expect(await reuseFrom(target)).toEqual({ reused: [], linked: [] })
})
