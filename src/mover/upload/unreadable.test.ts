/** Tests that a file that the disk cannot read keeps no other file from its upload. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { MoverError } from '../mover-error.ts'
import type { ObjectStore } from '../objects/object-store.ts'
import { Progress } from '../progress.ts'
import { upload } from './upload.ts'

const failWith = (code: string) => Object.assign(new Error(`${code}: a fault of the disk, read`), { code })

async function uploadFiles(unreadable: Record<string, string> = {}) {
  const root = mkdtempSync(join(tmpdir(), 'lodestone-upload-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const source = join(root, 'data')
  mkdirSync(source)
  for (const name of ['a', 'b', 'c']) writeFileSync(join(source, name), name)
  const uploaded: string[] = []
  const store = {
    objectUri: (key: string) => `s3://lake/${key}`,
    keyFault: () => undefined,
    async head() {
      throw new MoverError('NotFound', 'there is none')
    },
    list: async () => ({ objects: [] }),
    async upload(key: string) {
      const code = unreadable[key]
      if (code !== undefined) throw failWith(code)
      uploaded.push(key)
      return 'etag'
    },
  } as unknown as ObjectStore
  const place = { url: 's3://lake/', container: 'lake', key: '', recursive: true, globRoot: 'lake/' }
  const input = { openStore: async () => store, root, source, place, partSize: 1024, parallel: 1 }
  const error = await upload(input, new Progress(), new AbortController().signal).catch((failed: unknown) => failed)
  return { error, uploaded: uploaded.sort() }
}

test.each(['EIO', 'EUCLEAN', 'EBADMSG', 'EACCES', 'EPERM'])(
  'a file that cannot be read with %s is named',
  async (code) => {
    const { error, uploaded } = await uploadFiles({ a: code })

    expect(error).toMatchObject({
      code: 'Unexpected',
      message: expect.stringContaining('not uploaded: a cannot be read'),
    })
    expect(uploaded).toEqual(['b', 'c'])
  },
)

test('a limit of the process ends the upload: it is no fault of one file', async () => {
  const { error, uploaded } = await uploadFiles({ a: 'EMFILE' })

  expect(error).toMatchObject({ code: 'EMFILE' })
  expect(uploaded).not.toContain('a')
})
