/** Decides on a claim at admission: malformed claims and claims without permission are rejected. */
import type { DataSourceClaim } from '../../api/data-source-claim.ts'
import type { FieldError } from '../../base/field-errors.ts'
import { jsonEqual } from '../../base/json.ts'
import { denyErrors, type Outcome } from '../outcome.ts'

export interface ClaimAdmissionInput {
  claim: DataSourceClaim
  /** The stored claim; absent if the request creates it. */
  stored: DataSourceClaim | undefined
  /** The errors of invalid fields. */
  errors: FieldError[]
  /** Why the claim does not apply to the workload that it names, and the remedy; undefined if it applies. */
  refusal: string | undefined
  /** Whether a price matrix is configured. */
  hasPrices: boolean
}

/** Admission reads a cache: after a user annotates the namespace, a second attempt may be needed. */
const RETRY = 'if this was just done, retry in a few seconds'

/**
 * Rejects a claim without permission if this write names a new workload. Every other write of such a claim is allowed: the permission may
 * have been removed since.
 */
export function admitClaim(input: ClaimAdmissionInput): Outcome {
  const outcome = decideClaim(input)
  const { preference } = input.claim.spec?.policy ?? {}
  const lacksPrices = outcome.kind === 'allow' && !input.hasPrices && (preference === 'Cost' || preference === 'Time')
  return lacksPrices ? { ...outcome, warnings: [withoutPrices(preference)] } : outcome
}

function withoutPrices(preference: string): string {
  return `lodestone: spec.policy.preference: ${preference} counts as Bytes: set transferCosts in the configuration`
}

function decideClaim({ claim, stored, errors, refusal }: ClaimAdmissionInput): Outcome {
  if (refusal === undefined) return denyErrors(errors)
  if (stored && jsonEqual(stored.spec?.workload, claim.spec.workload)) return denyErrors(errors)
  const message = claim.spec.workload.namespace ? `${refusal}; ${RETRY}` : refusal
  return denyErrors([...errors, { path: 'spec.workload', code: 'Forbidden', message }])
}
