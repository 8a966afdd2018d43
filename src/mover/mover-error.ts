/** The error that ends a mover, with a code that says whether another attempt can succeed. */
import { fileErrorCode } from '../base/file-error.ts'
import type { FailureCode } from '../core/mover-contract/contract.ts'

export class MoverError extends Error {
  override name = 'MoverError'
  readonly code: FailureCode

  constructor(code: FailureCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** Codes and messages for errors of the file system. */
const FILE_ERRORS: Readonly<Record<string, { code: FailureCode; text: string }>> = {
  ENOSPC: { code: 'NoSpace', text: 'the disk is full' },
  EDQUOT: { code: 'NoSpace', text: 'the quota of the disk is used up' },
  EISDIR: { code: 'KeyConflict', text: 'there is a directory where a file should be' },
  ENOTDIR: { code: 'KeyConflict', text: 'there is a file where a directory should be' },
  ELOOP: { code: 'Rejected', text: 'there is a symbolic link; the mover does not follow links' },
  // A fault of the node, so another node is tried: `Rejected` would be one of the source. `NoSpace` would evict data for a file that fits on
  // no disk with this file system.
  EFBIG: { code: 'Unexpected', text: 'the file system takes no file as large as this' },
  EROFS: { code: 'Unexpected', text: 'the file system is mounted read-only' },
  EACCES: { code: 'Unexpected', text: 'permission denied for the user of the mover' },
  EPERM: { code: 'Unexpected', text: 'permission denied for the user of the mover' },
  EUCLEAN: { code: 'Unexpected', text: 'the file system is damaged' },
  EBADMSG: { code: 'Unexpected', text: 'the file system is damaged' },
}

/** The verb for an error without a path, by the call of the system. */
const DOING: Readonly<Record<string, string>> = { read: 'reading', scandir: 'reading' }

/** Whether an error says that the disk is full, or its quota is used up. */
export function isDiskFull(error: unknown): boolean {
  const code = fileErrorCode(error)
  return code === 'ENOSPC' || code === 'EDQUOT'
}

/** Converts an error of any kind: errors of the file system get their code and message, all others are `Unexpected`. */
export function asMoverError(error: unknown): MoverError {
  if (error instanceof MoverError) return error
  const { path, syscall, message = String(error) } = error as NodeJS.ErrnoException
  const code = fileErrorCode(error) ?? ''
  const known = FILE_ERRORS[code]
  if (known === undefined) return new MoverError('Unexpected', message, { cause: error })
  return new MoverError(known.code, `${path ?? DOING[syscall ?? ''] ?? 'writing'}: ${known.text} (${code})`, {
    cause: error,
  })
}
