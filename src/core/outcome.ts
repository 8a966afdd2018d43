/** The outcome of an admission decision. A rejection is a value; only unexpected errors are thrown. */
import type { K8sObject } from '../api/meta.ts'
import { describeErrors, type FieldError } from './field-errors.ts'

interface OutcomeDetails {
  /** Shown to the requester by kubectl; at most 120 characters each (Kubernetes' advice). */
  warnings?: string[]
  /** For the audit log: machine-readable reasons; keys without a slash. */
  auditAnnotations?: Record<string, string>
}

export type Outcome =
  | ({ kind: 'allow' } & OutcomeDetails)
  | ({ kind: 'patch'; object: K8sObject } & OutcomeDetails)
  | ({ kind: 'deny'; errors: FieldError[] } & OutcomeDetails)

const MAX_WARNING_LENGTH = 120

/** Cuts a text to `max` characters; what is cut shows as an ellipsis. */
export function cut(text: string, max: number = MAX_WARNING_LENGTH): string {
  if (text.length <= max) return text
  const kept = text.slice(0, max - 1)
  // Half a surrogate pair is no character: the API server would store another one.
  return `${/[\uD800-\uDBFF]$/.test(kept) ? kept.slice(0, -1) : kept}…`
}

/** Allows what has no errors and refuses what has. */
export function refuseErrors(errors: FieldError[]): Outcome {
  return errors.length === 0 ? { kind: 'allow' } : { kind: 'deny', errors }
}

/**
 * Allows an object of Karmada's that is not even one: the API server's own validation, which runs after us, says so best. It is never
 * refused here, since Karmada may come to allow what this version does not know.
 */
export function leaveMalformed(errors: FieldError[]): Outcome {
  return { kind: 'allow', warnings: [cut(`lodestone: not looked at: ${describeErrors(errors)}`)] }
}
