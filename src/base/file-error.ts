/** Describes an error of the file system in the words of a user. */

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  EISDIR: 'is a directory, not a file',
  ENOTDIR: 'a part of the path is not a directory',
  EEXIST: 'is a file, not a directory',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota of the disk is used up',
  EUCLEAN: 'the file system is damaged',
  EBADMSG: 'the file system is damaged',
}

/**
 * The codes of Linux that Node.js does not know, by their numbers (include/uapi/asm-generic/errno.h). It names such an error
 * `Unknown system error -122` or `UNKNOWN`, since libuv has no name for it.
 */
const UNNAMED: Readonly<Record<number, string>> = { 74: 'EBADMSG', 117: 'EUCLEAN', 122: 'EDQUOT' }

/** The code of an error of the file system, such as `ENOSPC` or `EDQUOT`; undefined for an error without a code. */
export function fileErrorCode(error: unknown): string | undefined {
  const { code, errno = 0 } = error as { code?: string; errno?: number }
  return UNNAMED[-errno] ?? code
}

/** Returns the reason without the path, which the caller names; the text of Node.js for an unusual error. */
export function describeFileError(error: unknown): string {
  const { message } = error as { message: string }
  return DESCRIPTIONS[fileErrorCode(error) ?? ''] ?? message
}
