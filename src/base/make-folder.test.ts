import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../test/temporary-folder.ts'
import { makeFolder } from './make-folder.ts'

function temporary(): string {
  const folder = temporaryFolder()
  return folder
}

test('creates a folder and those above it, with the mode', async () => {
  const folder = join(temporary(), 'a', 'b', 'c')

  await makeFolder(folder, 0o700)

  expect(statSync(folder).mode & 0o777).toBe(0o700)
  expect(statSync(join(folder, '..')).mode & 0o777).toBe(0o700)
})

test('accepts an existing folder, a trailing slash, and two calls at once', async () => {
  const folder = temporary()
  const below = join(folder, 'a', 'b')

  await Promise.all([makeFolder(folder), makeFolder(`${below}/`), makeFolder(below)])

  expect(statSync(below).isDirectory()).toBe(true)
})

test('throws when a file is in the way', async () => {
  const file = join(temporary(), 'file')
  writeFileSync(file, '')

  await expect(makeFolder(file)).rejects.toMatchObject({ code: 'EEXIST' })
  await expect(makeFolder(join(file, 'below'))).rejects.toMatchObject({ code: 'ENOTDIR' })
})

test.each(['/proc/x', '/proc/x/y/z'])('throws for %s, in which nothing can be created', async (folder) => {
  await expect(makeFolder(folder)).rejects.toThrow('cannot create the folder /proc/x; choose another one')
})
