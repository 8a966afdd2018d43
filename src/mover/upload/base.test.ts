import { appendFile, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../../test/temporary-folder.ts'
import type { ObjectPlace } from '../../base/objects.ts'
import { readRecords } from '../download/checksums.ts'
import { openBase } from './base.ts'

const target: ObjectPlace = { url: 's3://lake/', container: 'lake', globRoot: 's3/lake/', key: '', recursive: true }
const known = { key: 'a.csv', size: 1, etag: 'e' }
const place = () => {
  const state = temporaryFolder()
  return { state, target: join(state, 'data'), files: join(state, 'files'), parts: join(state, 'parts') }
}

test.each(['{"key":"b', '{"key":"b}', '{"key":"b}"', '{"key":"{b}', 'null', ''])(
  'the incomplete line %j of a record is skipped',
  async (line) => {
    const where = place()
    const first = await openBase(where, target)
    first.set(known)
    await first.close()
    await appendFile(join(where.state, 'uploads'), line)
    const second = await openBase(where, target)
    second.set({ ...known, key: 'c.csv' })
    await second.close()
    const third = await openBase(where, target)
    await third.close()
    expect([third.get('a.csv'), third.get('c.csv')]).toEqual([known, { ...known, key: 'c.csv' }])
  },
)

test('a record to which uploads of the same files added many lines is shortened', async () => {
  const where = place()
  const base = await openBase(where, target)
  for (let i = 0; i < 5000; i++) base.set({ ...known, key: `${i % 2}`, etag: `${i}` })
  await base.close()

  await (await openBase(where, target)).close()

  const lines = (await readFile(join(where.state, 'uploads'), 'utf8')).split('\n')
  expect(lines.filter((line) => line.startsWith('{'))).toHaveLength(2)
  const last = await openBase(where, target)
  await last.close()
  expect(['0', '1'].map((key) => last.get(key)?.etag)).toEqual(['4998', '4999'])
})

test('a record of many files is not written again', async () => {
  const where = place()
  const base = await openBase(where, target)
  for (let i = 0; i < 5000; i++) base.set({ ...known, key: `${i}` })
  await base.close()
  const before = await stat(join(where.state, 'uploads'))

  await (await openBase(where, target)).close()

  expect((await stat(join(where.state, 'uploads'))).ino).toBe(before.ino)
})

test.each(['{"id":"i","path":"{b}', '{"id":"i","path":"b'])(
  'the incomplete line %j of checksums is skipped',
  async (line) => {
    const { state } = place()
    const complete = { id: 'i', path: 'a', mtimeMs: 1 }
    await appendFile(join(state, 'checksums'), `${JSON.stringify(complete)}\n${line}\n`)
    const read: unknown[] = []
    for await (const one of readRecords({ state })) read.push(one)
    expect(read).toEqual([complete])
  },
)
