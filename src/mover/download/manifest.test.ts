/** Tests the list of the objects of a download, for listings that only faulty servers give. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { ListedObject, ListingPage } from '../../base/objects.ts'
import type { ObjectStore } from '../objects/object-store.ts'
import { parseS3Url } from '../s3/protocol.ts'
import { writeManifest } from './manifest.ts'

const object = (key: string, etag = 'e'): ListedObject => ({ key: `raw/${key}`, size: 1, etag })

async function manifestOf(pageAt: (index: number) => ListingPage, { flat = false, exclude = [] as string[] } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'manifest-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const list = async (_: string, token = '0') => pageAt(Number(token))
  const store = { objectUri: (key: string) => `s3://lake/${key}`, list } as unknown as ObjectStore
  const place = parseS3Url('s3://lake/raw/')
  if (!place) throw new Error('no place')
  const selection = { place, match: [], exclude, flat }
  const manifest = await writeManifest(
    join(folder, 'manifest'),
    store,
    selection,
    AbortSignal.timeout(60_000),
    () => undefined,
  )
  const objects: string[][] = []
  for await (const { key, etag } of manifest.entries()) objects.push([key, etag])
  return { ...manifest, objects }
}

const twoPages =
  (...second: ListedObject[]) =>
  (index: number) =>
    index === 0 ? { objects: [object('a'), object('b')], next: '1' } : { objects: second }

test.each([false, true])('an object on two pages is downloaded once, without folders: %s', async (flat) => {
  const { files, bytes, digest, objects } = await manifestOf(twoPages(object('b', 'changed'), object('c')), { flat })

  expect({ files, bytes, objects }).toEqual({
    files: 3,
    bytes: 3,
    objects: [
      ['raw/a', 'e'],
      ['raw/b', 'e'],
      ['raw/c', 'e'],
    ],
  })
  expect(digest).toBe((await manifestOf(twoPages(object('c')))).digest)
})

test('data whose name is the prefix itself is named, since no file can have it', async () => {
  const leftOut = 's3://lake/raw/ has data, but its name ends with a slash'
  expect(await manifestOf(twoPages(object('')))).toMatchObject({ files: 2, leftOut })
  expect(await manifestOf(twoPages({ ...object(''), size: 0 }))).not.toHaveProperty('leftOut')
  expect(await manifestOf(twoPages(object('')), { exclude: ['s3/lake/raw/'] })).not.toHaveProperty('leftOut')
})

test('a server whose pages lead back to earlier ones is refused', async () => {
  const pageAt = (index: number) => ({ objects: [object(`${index}/a`), object(`${index}/b`)], next: String(1 - index) })
  await expect(manifestOf(pageAt)).rejects.toMatchObject({
    code: 'Rejected',
    message: 'the server lists the same objects again and again, such as 0/a',
  })
})

test('without their folders, two objects of one name are in conflict', async () => {
  await expect(manifestOf(twoPages(object('folder/b')), { flat: true })).rejects.toMatchObject({ code: 'KeyConflict' })
})
