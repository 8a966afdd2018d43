/** The outcome of an admission decision. A rejection is a value; only unexpected errors are thrown. */

import type { K8sObject } from '../api/meta.ts'
import { describeErrors, type FieldError } from '../base/field-errors.ts'
import { firstCharacters } from '../base/first-characters.ts'
import { defined } from '../base/json.ts'
import type { AuditDecision, AuditKey } from './signal-tables.ts'

interface OutcomeDetails {
  /** kubectl shows them to the user; at most 120 characters each, as Kubernetes recommends. */
  warnings?: string[]
  /** For the audit log, and the log line of the review. */
  auditAnnotations?: AuditAnnotations
}

/** Keys without a slash: the API server puts the name of the webhook before each. */
type AuditAnnotations = Partial<Record<AuditKey, string>> & { decision?: AuditDecision }

export type Outcome =
  | ({ kind: 'allow' } & OutcomeDetails)
  | ({ kind: 'patch'; object: K8sObject } & OutcomeDetails)
  /** `reason` is the reason of the Status; `Invalid` if absent. */
  | ({ kind: 'deny'; errors: FieldError[]; reason?: string } & OutcomeDetails)

const MAX_WARNING_LENGTH = 120

/** Cuts a text to `max` characters; an ellipsis replaces the remainder. */
export function cut(text: string, max: number = MAX_WARNING_LENGTH): string {
  return text.length <= max ? text : `${firstCharacters(text, max - 1)}…`
}

/** Formats a decision for a user: `OnHold` becomes `on hold`. */
export function decisionInWords(decision: string): string {
  return decision.replace(/\B[A-Z]/g, ' $&').toLowerCase()
}

/** Allows an object without errors and rejects one with errors. */
export function denyErrors(errors: FieldError[]): Outcome {
  return errors.length === 0 ? { kind: 'allow' } : { kind: 'deny', errors }
}

/** Rejects the object with further errors, if there are any. Its warnings stay. */
export function withErrors(outcome: Outcome, errors: readonly FieldError[]): Outcome {
  if (errors.length === 0) return outcome
  const { warnings } = outcome
  return defined({
    kind: 'deny',
    errors: [...(outcome.kind === 'deny' ? outcome.errors : []), ...errors],
    warnings,
  })
}

/**
 * Allows an object of a Karmada kind with an invalid shape. The API server's own validation runs later and explains the error best.
 * Lodestone never rejects it, since a later version of Karmada may allow it.
 */
export function leaveMalformed(errors: FieldError[]): Outcome {
  return { kind: 'allow', warnings: [cut(`lodestone: not checked: ${describeErrors(errors)}`)] }
}
