import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { getSystemErrorName } from 'node:util'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../test/temporary-folder.ts'
import { describeFileError, fileErrorCode } from './file-error.ts'

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

test.each([
  { errno: -28, want: 'ENOSPC', says: 'the disk is full' },
  { errno: -74, want: 'EBADMSG', says: 'the file system is damaged' },
  { errno: -117, want: 'EUCLEAN', says: 'the file system is damaged' },
  { errno: -122, want: 'EDQUOT', says: 'the quota of the disk is used up' },
])('the code of the error $errno is $want, whether Node.js knows it or not', ({ errno, want, says }) => {
  const error = Object.assign(new Error('write'), { code: getSystemErrorName(errno), errno })

  expect([fileErrorCode(error), describeFileError(error)]).toEqual([want, says])
})

test('an error without a number has its own code, or none', () => {
  expect(fileErrorCode(Object.assign(new Error('x'), { code: 'ERR_ACCESS_DENIED' }))).toBe('ERR_ACCESS_DENIED')
  expect(fileErrorCode(new Error('x'))).toBeUndefined()
})
