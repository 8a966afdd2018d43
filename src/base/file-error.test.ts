import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { describeFileError } from './file-error.ts'

test.each([
  { file: 'missing', want: 'no such file or directory' },
  { file: '.', want: 'is a directory, not a file' },
  { file: 'file/below', want: 'a part of the path is not a directory' },
  { file: 'null\u0000byte', want: expect.stringContaining('null bytes') },
])('$file: $want', ({ file, want }) => {
  const folder = mkdtempSync(join(tmpdir(), 'lodestone-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
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
