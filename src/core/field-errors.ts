/** What is wrong with an object, by path: validators give all of it at once and throw nothing. */

export type FieldErrorCode = 'Required' | 'Invalid' | 'NotSupported' | 'TooLong' | 'Duplicate' | 'Forbidden'

export interface FieldError {
  /** From the object's root, as kubectl shows it: `spec.workload.name`, `spec.locality.clusterNames[1]`. */
  path: string
  code: FieldErrorCode
  /** What was expected, in words that tell the way out. */
  message: string
}

/** One sentence with every error, for a refusal. */
export function describeErrors(errors: readonly FieldError[]): string {
  return errors.map((error) => `${error.path}: ${error.message}`).join('; ')
}
