/** Errors of an object by path. Validators return all errors at once and throw nothing. */

import { firstCharacters } from './first-characters.ts'

export type FieldErrorCode = 'Required' | 'Invalid' | 'NotSupported' | 'TooLong' | 'TooMany' | 'Duplicate' | 'Forbidden'

export interface FieldError {
  /** From the object's root, in kubectl's notation: `spec.workload.name`, `spec.locality.clusterNames[1]`. */
  path: string
  code: FieldErrorCode
  /** The expected value, so that the user can correct it. */
  message: string
  /** The number of errors that this error represents, if they are not listed; absent for one error. */
  count?: number
}

/** A response lists at most this many errors and the number of the others: a large body can have a million errors. */
export const MAX_LISTED_ERRORS = 20
/** In characters. A path or a message may contain text of any length from a user. */
const MAX_DESCRIPTION_LENGTH = 1024

/** Collects errors: keeps the first ones and only counts the others, so that memory is limited. */
export class ErrorList {
  readonly #listed: FieldError[] = []
  readonly #most: number
  #remaining = 0

  /** @param most lists this many errors; the others are only counted */
  constructor(most: number = MAX_LISTED_ERRORS) {
    this.#most = most
  }

  /** @param describe builds the error; not called if the list is full */
  add(describe: () => FieldError): void {
    if (this.isFull) this.count()
    else this.#listed.push(describe())
  }

  /** Counts an error that is not listed. */
  count(): void {
    this.#remaining++
  }

  /** Whether further errors are only counted. Then their paths are not needed. */
  get isFull(): boolean {
    return this.#listed.length >= this.#most
  }

  /** Returns the listed errors and, if there are more, one error with the number of the others. */
  errors(): FieldError[] {
    return this.#remaining === 0 ? this.#listed : [...this.#listed, remaining(this.#remaining)]
  }
}

/** Returns at most `MAX_LISTED_ERRORS` of these errors, and one error with the number of the others. */
function boundErrors(errors: readonly FieldError[]): readonly FieldError[] {
  if (errors.length <= MAX_LISTED_ERRORS) return errors
  const listed = errors.filter(({ count }) => count === undefined).slice(0, MAX_LISTED_ERRORS)
  const all = errors.reduce((sum, { count = 1 }) => sum + count, 0)
  return [...listed, remaining(all - listed.length)]
}

/** Describes the first errors and the number of the others, for a response. */
export function describeErrors(errors: readonly FieldError[]): string {
  return boundErrors(errors)
    .map(({ path, message, count }) => shortened(count === undefined ? `${path}: ${message}` : message))
    .join('; ')
}

function remaining(count: number): FieldError {
  return { path: '(root)', code: 'TooMany', message: `and ${count} more errors`, count }
}

function shortened(text: string): string {
  return text.length <= MAX_DESCRIPTION_LENGTH ? text : `${firstCharacters(text, MAX_DESCRIPTION_LENGTH)}…`
}
