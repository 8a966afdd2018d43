/** The error of an invalid configuration of a data system. */
import type { FieldError } from '../../base/field-errors.ts'

interface SystemConfigProblem {
  /** The message without the file. */
  reason: string
  /** The invalid fields; empty for a text that cannot be parsed. */
  errors?: readonly FieldError[]
  /** The line of a text that cannot be parsed. */
  line?: number
  cause?: unknown
}

/** The configuration is invalid. The message names the file, and the line or every invalid field. */
export class SystemConfigError extends Error {
  override name = 'SystemConfigError'
  readonly reason: string
  readonly errors: readonly FieldError[]
  readonly line: number | undefined
  constructor(file: string, { reason, errors = [], line, cause }: SystemConfigProblem) {
    super(`${file}: ${line === undefined ? '' : `line ${line}: `}${reason}`, cause === undefined ? {} : { cause })
    this.reason = reason
    this.errors = errors
    this.line = line
  }
}
