/** Tests the codes and messages for errors of the file system. */
import { getSystemErrorName } from 'node:util'
import { expect, test } from 'vitest'
import { asMoverError, isDiskFull, MoverError } from './mover-error.ts'

test.each([
  { code: 'ENOSPC', want: 'NoSpace', says: '/data/x: the disk is full (ENOSPC)' },
  { code: 'EACCES', want: 'Unexpected', says: 'permission denied for the user of the mover' },
  { code: 'EROFS', want: 'Unexpected', says: 'read-only' },
  { code: 'EFBIG', want: 'Unexpected', says: 'takes no file as large as this' },
  { code: 'EPERM', want: 'Unexpected', says: 'permission denied for the user of the mover' },
  { code: 'EISDIR', want: 'KeyConflict', says: 'a directory where a file should be' },
  { code: 'ELOOP', want: 'Rejected', says: 'symbolic link' },
  { code: 'EIO', want: 'Unexpected', says: 'i/o error' },
])('$code is $want', ({ code, want, says }) => {
  const error = asMoverError(Object.assign(new Error('i/o error'), { code, path: '/data/x' }))

  expect(error.code).toBe(want)
  expect(error.message).toContain(says)
})

test.each([
  { errno: -122, syscall: 'write', want: 'NoSpace', says: 'writing: the quota of the disk is used up (EDQUOT)' },
  { errno: -117, syscall: 'read', want: 'Unexpected', says: 'reading: the file system is damaged (EUCLEAN)' },
  { errno: -74, syscall: 'read', want: 'Unexpected', says: 'reading: the file system is damaged (EBADMSG)' },
])('the error $errno, which has no name in Node.js, is $want', ({ errno, syscall, want, says }) => {
  for (const code of [getSystemErrorName(errno), 'UNKNOWN']) {
    const error = asMoverError(Object.assign(new Error(`${code}: ${syscall}`), { code, errno, syscall }))

    expect([error.code, error.message]).toEqual([want, says])
  }
})

test.each([
  { errno: -28, want: true },
  { errno: -122, want: true },
  { errno: -5, want: false },
])('whether the error $errno says that the disk is full: $want', ({ errno, want }) => {
  expect(isDiskFull(Object.assign(new Error('write'), { code: getSystemErrorName(errno), errno }))).toBe(want)
})

test('a MoverError is returned unchanged, and any other value becomes one', () => {
  const own = new MoverError('NotFound', 'x')

  expect(asMoverError(own)).toBe(own)
  expect(asMoverError('text').message).toBe('text')
})
