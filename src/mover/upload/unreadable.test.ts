/** Tests that a file that the disk cannot read keeps no other file from its upload. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { getSystemErrorName } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { MoverError } from '../mover-error.ts'
import type { ObjectStore } from '../objects/object-store.ts'
import { Progress } from '../progress.ts'
import { upload } from './upload.ts'

/** As Node.js throws it. */
function failWith(errno: number): Error {
  const code = getSystemErrorName(-errno)
  return Object.assign(new Error(`${code}: a fault of the disk, read`), { code, errno: -errno })
}

async function uploadFiles(unreadable: Record<string, number> = {}) {
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
      const errno = unreadable[key]
      if (errno !== undefined) throw failWith(errno)
      uploaded.push(key)
      return 'etag'
    },
  } as unknown as ObjectStore
  const place = { url: 's3://lake/', container: 'lake', key: '', recursive: true, globRoot: 'lake/' }
  const input = { openStore: async () => store, root, source, place, partSize: 1024, parallel: 1 }
  const error = await upload(input, new Progress(), new AbortController().signal).catch((failed: unknown) => failed)
  return { error, uploaded: uploaded.sort() }
}

const { EIO, EBADMSG, EACCES, EPERM, EMFILE } = constants.errno
const EUCLEAN = 117

test.each([EIO, EUCLEAN, EBADMSG, EACCES, EPERM])(
  'a file that cannot be read because of the error %i is named',
  async (errno) => {
    const { error, uploaded } = await uploadFiles({ a: errno })

    expect(error).toMatchObject({
      code: 'Unexpected',
      message: expect.stringContaining('not uploaded: a cannot be read'),
    })
    expect(uploaded).toEqual(['b', 'c'])
  },
)

test('a limit of the process ends the upload: it is no fault of one file', async () => {
  const { error, uploaded } = await uploadFiles({ a: EMFILE })

  expect(error).toMatchObject({ code: 'EMFILE' })
  expect(uploaded).not.toContain('a')
})
