/** Tests that an upload reports progress in each phase: a mover without progress counts as stalled, and is stopped. */
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { MoverError } from '../mover-error.ts'
import type { ObjectStore } from '../objects/object-store.ts'
import { Progress, type ProgressCounts } from '../progress.ts'
import { upload } from './upload.ts'

/** Remembers the counts after each change. */
class RecordedProgress extends Progress {
  readonly changes: ProgressCounts[] = []

  override begin(totalBytes: number, totalFiles: number): void {
    super.begin(totalBytes, totalFiles)
    this.changes.push(this.counts())
  }

  override adjust(bytes: number): void {
    super.adjust(bytes)
    this.changes.push(this.counts())
  }

  override fileDone(): void {
    super.fileDone()
    this.changes.push(this.counts())
  }
}

/** A store in which another client has created the object `theirs`. */
const store = {
  objectUri: (key: string) => `s3://lake/${key}`,
  keyFault: () => undefined,
  async head(key: string) {
    if (key === 'theirs') return { 'content-length': '1', etag: '"x"' }
    throw new MoverError('NotFound', 'there is none')
  },
  list: async () => ({ objects: [] }),
  upload: async () => 'y',
} as unknown as ObjectStore

async function uploadFiles(names: readonly string[], content: string) {
  const root = mkdtempSync(join(tmpdir(), 'lodestone-upload-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const source = join(root, 'data')
  mkdirSync(source)
  for (const name of names) {
    writeFileSync(join(source, name), content)
    utimesSync(join(source, name), 1, 1)
  }
  const progress = new RecordedProgress()
  const place = { url: 's3://lake/', container: 'lake', key: '', recursive: true, globRoot: 'lake/' }
  const input = { openStore: async () => store, root, source, place, partSize: 1024, parallel: 1 }
  await upload(input, progress, new AbortController().signal).catch(() => undefined)
  return progress.changes
}

test('counts the files while it lists them, from none', async () => {
  const changes = await uploadFiles(['a', 'b', 'c'], 'x')

  const listed = changes.slice(
    0,
    changes.findIndex(({ totalFiles }) => totalFiles > 0),
  )
  expect(listed.map(({ doneFiles }) => doneFiles)).toEqual([0, 1, 2, 3])
  expect(changes.at(-1)).toMatchObject({ doneFiles: 3, totalFiles: 3 })
})

test('counts the bytes of a file while it computes the name of its copy', async () => {
  const changes = await uploadFiles(['theirs'], 'mine')

  expect(changes.map(({ doneBytes }) => doneBytes)).toContain(4)
})
