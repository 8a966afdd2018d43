/** Errors of an object by path: validators return all of them at once and throw nothing. */

export type FieldErrorCode = 'Required' | 'Invalid' | 'NotSupported' | 'TooLong' | 'TooMany' | 'Duplicate' | 'Forbidden'

export interface FieldError {
  /** From the object's root, as kubectl shows it: `spec.workload.name`, `spec.locality.clusterNames[1]`. */
  path: string
  code: FieldErrorCode
  /** The expected value, so that the user can correct it. */
  message: string
  /** How many errors this one stands for, where they are not listed; 1 when absent. */
  count?: number
}

/** A response lists so many errors and the number of the remaining ones: a body of megabytes can have a million. */
export const MAX_LISTED_ERRORS = 20
/** A path or a message may contain text of any length from a user. */
const MAX_DESCRIPTION_LENGTH = 1024

/** Collects errors: keeps the first ones and counts the rest, so that a long list of mistakes costs no memory. */
export class ErrorList {
  readonly #listed: FieldError[] = []
  #remaining = 0

  /** @param describe makes the error; it is not called when the list is full */
  add(describe: () => FieldError): void {
    if (this.isFull) this.#remaining++
    else this.#listed.push(describe())
  }

  /** Whether further errors are only counted, so that their paths need not be made. */
  get isFull(): boolean {
    return this.#listed.length >= MAX_LISTED_ERRORS
  }

  /** The listed errors, then one that stands for the remaining ones, if there are any. */
  errors(): FieldError[] {
    return this.#remaining === 0 ? this.#listed : [...this.#listed, remaining(this.#remaining)]
  }
}

/** At most `MAX_LISTED_ERRORS` of these errors, and one that stands for the remaining ones. */
function boundErrors(errors: readonly FieldError[]): readonly FieldError[] {
  if (errors.length <= MAX_LISTED_ERRORS) return errors
  const listed = errors.filter(({ count }) => count === undefined).slice(0, MAX_LISTED_ERRORS)
  const all = errors.reduce((sum, { count = 1 }) => sum + count, 0)
  return [...listed, remaining(all - listed.length)]
}

/** One sentence with the first errors and the number of the remaining ones, for a response. */
export function describeErrors(errors: readonly FieldError[]): string {
  return boundErrors(errors)
    .map(({ path, message, count }) => shortened(count === undefined ? `${path}: ${message}` : message))
    .join('; ')
}

function remaining(count: number): FieldError {
  return { path: '(root)', code: 'TooMany', message: `and ${count} more errors`, count }
}

function shortened(text: string): string {
  return text.length <= MAX_DESCRIPTION_LENGTH ? text : `${text.slice(0, MAX_DESCRIPTION_LENGTH)}…`
}
