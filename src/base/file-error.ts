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
}

/** Returns the reason without the path, which the caller names; the text of Node.js for an unusual error. */
export function describeFileError(error: unknown): string {
  const { code = '', message } = error as { code?: string; message: string }
  return DESCRIPTIONS[code] ?? message
}
