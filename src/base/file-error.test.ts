import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../test/temporary-folder.ts'
import { describeFileError } from './file-error.ts'

test.each([
  { file: 'missing', want: 'no such file or directory' },
  { file: '.', want: 'is a directory, not a file' },
  { file: 'file/below', want: 'a part of the path is not a directory' },
  { file: 'null\u0000byte', want: expect.stringContaining('null bytes') },
])('$file: $want', ({ file, want }) => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'file'), '')

  expect(reasonOf(() => readFileSync(`${folder}/${file}`))).toEqual(want)
})

function reasonOf(read: () => unknown): string {
  try {
    return `read ${read()}`
  } catch (error) {
    return describeFileError(error)
  }
}
