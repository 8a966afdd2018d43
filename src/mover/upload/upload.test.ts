import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../../test/temporary-folder.ts'
import { MoverError } from '../mover-error.ts'
import type { ObjectStore, PendingUpload } from '../objects/object-store.ts'
import { NameList, openPending } from './upload.ts'

test('a list of a million names shows the first ones and counts the others', () => {
  const names = new NameList()
  expect(names.isEmpty).toBe(true)
  for (let i = 0; i < 1_000_000; i++) names.add(`file-${i}`)
  expect(names.isEmpty).toBe(false)
  expect(names.join()).toBe(`${Array.from({ length: 20 }, (_, i) => `file-${i}`).join(', ')}, and 999980 more`)
})

test('a short list shows all names', () => {
  const names = new NameList()
  for (const name of ['a', 'b']) names.add(name)
  expect(names.join('; ')).toBe('a; b')
})

const { signal } = new AbortController()
const place = () => {
  const state = temporaryFolder()
  return { state, target: join(state, 'data') } as Parameters<typeof openPending>[0]
}

/** A store whose answers to aborts are given, by the id of the upload. */
function storeWith(failures: Record<string, MoverError> = {}, bucket = 'lake') {
  const aborted: string[] = []
  const store = {
    objectUri: (key: string) => `s3://${bucket}/${key}`,
    async abort({ id }: PendingUpload) {
      aborted.push(id)
      if (failures[id]) throw failures[id]
    },
  } as unknown as ObjectStore
  return { store, aborted }
}

async function recordUploads(where: ReturnType<typeof place>): Promise<void> {
  const pending = await openPending(where, storeWith().store, signal)
  for (const id of ['one', 'two', 'three']) pending.begin({ key: `${id}.csv`, id })
  pending.end({ key: 'two.csv', id: 'two' })
  await pending.close()
}

test('the uploads that a killed mover has begun and not ended are aborted, once', async () => {
  const where = place()
  await recordUploads(where)
  const { store, aborted } = storeWith()
  for (let times = 0; times < 2; times++) await (await openPending(where, store, signal)).close()
  expect(aborted).toEqual(['one', 'three'])
})

test('an upload is aborted later if the server is away, and not if it has ended', async () => {
  const where = place()
  await recordUploads(where)
  const away = storeWith({ one: new MoverError('Unreachable', 'away'), three: new MoverError('NotFound', 'ended') })
  await (await openPending(where, away.store, signal)).close()
  const { store, aborted } = storeWith()
  await (await openPending(where, store, signal)).close()
  expect(aborted).toEqual(['one'])
})

test('the uploads of another bucket are not aborted', async () => {
  const where = place()
  await recordUploads(where)
  const { store, aborted } = storeWith({}, 'other')
  await (await openPending(where, store, signal)).close()
  expect(aborted).toEqual([])
})
