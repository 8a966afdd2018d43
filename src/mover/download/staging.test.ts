import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../../test/temporary-folder.ts'
import { exists, findRoot } from './staging.ts'

test.each([
  { name: 'a file', path: 'file', want: true },
  { name: 'a symbolic link that leads nowhere', path: 'loop', want: true },
  { name: 'a path without a file', path: 'none', want: false },
  { name: 'a path below a file', path: 'file/none', want: false },
])('exists of $name is $want', async ({ path, want }) => {
  expect(await exists(join(makeFolder(), path))).toBe(want)
})

test('a path that cannot be looked at is not a missing one', async () => {
  await expect(exists(join(makeFolder(), 'loop', 'file'))).rejects.toMatchObject({ code: 'ELOOP' })
})

test('a root that cannot be looked at does not end all attempts, as a missing one does', async () => {
  const folder = makeFolder()
  await expect(findRoot(join(folder, 'loop'))).rejects.toMatchObject({ code: 'ELOOP' })
  await expect(findRoot(join(folder, 'none'))).rejects.toMatchObject({ code: 'Rejected' })
})

/** A folder with a file and a link to itself. */
function makeFolder(): string {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'file'), 'x')
  symlinkSync('loop', join(folder, 'loop'))
  return folder
}
