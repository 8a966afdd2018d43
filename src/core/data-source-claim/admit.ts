/** The decision on a claim at admission: malformed and not permitted claims are refused. */
import type { DataSourceClaim } from '../../api/data-source-claim.ts'
import type { FieldError } from '../field-errors.ts'
import { jsonEqual } from '../json.ts'
import { type Outcome, refuseErrors } from '../outcome.ts'

export interface ClaimAdmissionInput {
  claim: DataSourceClaim
  /** As it is stored; absent when the claim is being created. */
  stored: DataSourceClaim | undefined
  /** The errors of malformed fields. */
  errors: FieldError[]
  /** Why the claim does not apply to the workload that it names, and the way out; undefined where it does. */
  refusal: string | undefined
}

/** Admission reads a cache: a user who has just annotated the namespace must know that a second try may be needed. */
const RETRY = 'if that has just been done, try again in a few seconds'

/**
 * Refuses a claim that is not permitted when it comes to name its workload. Every other write of such a claim passes: its finalizer must
 * be removable, and its permission may have been removed since.
 */
export function admitClaim({ claim, stored, errors, refusal }: ClaimAdmissionInput): Outcome {
  if (refusal === undefined || claim.metadata.deletionTimestamp) return refuseErrors(errors)
  if (stored && jsonEqual(stored.spec?.workload, claim.spec.workload)) return refuseErrors(errors)
  const message = claim.spec.workload.namespace ? `${refusal}; ${RETRY}` : refusal
  return refuseErrors([...errors, { path: 'spec.workload', code: 'Forbidden', message }])
}
