/** Tests the codes and messages for errors of the file system. */
import { expect, test } from 'vitest'
import { asMoverError, MoverError } from './mover-error.ts'

test.each([
  { code: 'ENOSPC', want: 'NoSpace', says: '/data/x: the disk is full (ENOSPC)' },
  { code: 'EDQUOT', want: 'NoSpace', says: 'quota' },
  { code: 'EACCES', want: 'Unexpected', says: 'permission denied for the user of the mover' },
  { code: 'EROFS', want: 'Unexpected', says: 'read-only' },
  { code: 'EPERM', want: 'Unexpected', says: 'permission denied for the user of the mover' },
  { code: 'EISDIR', want: 'KeyConflict', says: 'a directory where a file should be' },
  { code: 'ELOOP', want: 'Rejected', says: 'symbolic link' },
  { code: 'EIO', want: 'Unexpected', says: 'i/o error' },
])('$code is $want', ({ code, want, says }) => {
  const error = asMoverError(Object.assign(new Error('i/o error'), { code, path: '/data/x' }))

  expect(error.code).toBe(want)
  expect(error.message).toContain(says)
})

test('a MoverError is returned unchanged, and any other value becomes one', () => {
  const own = new MoverError('NotFound', 'x')

  expect(asMoverError(own)).toBe(own)
  expect(asMoverError('text').message).toBe('text')
})
