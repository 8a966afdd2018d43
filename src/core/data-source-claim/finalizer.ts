/** The finalizer of claims: added by admission, or by the loop to a claim that admission did not see. */
import type { DataSourceClaim } from '../../api/data-source-claim.ts'
import { CLAIM_FINALIZER } from '../../api/lodestone.ts'
import type { Outcome } from '../outcome.ts'

/** Adds our finalizer to a claim that is being created, after those of others. */
export function protectClaim(claim: DataSourceClaim): Outcome {
  const finalizers = withFinalizer(claim)
  return finalizers
    ? { kind: 'patch', object: { ...claim, metadata: { ...claim.metadata, finalizers } } }
    : { kind: 'allow' }
}

/** Returns the finalizers of a claim with ours; undefined if it has ours. */
export function withFinalizer({ metadata: { finalizers = [] } }: DataSourceClaim): string[] | undefined {
  return finalizers.includes(CLAIM_FINALIZER) ? undefined : [...finalizers, CLAIM_FINALIZER]
}
