/** Admission of new claims: adds the finalizer, so that the loop needs no write for it. */
import { type DataSourceClaim, dataSourceClaims } from '../api/data-source-claim.ts'
import { CLAIM_FINALIZER } from '../api/lodestone.ts'
import { protectClaim } from '../core/data-source-claim/finalizer.ts'
import { defineWebhook } from './define.ts'

/** Mutating. The validation is a webhook of its own, which the API server calls after all mutating ones (ADR 40). */
export const claimFinalizer = defineWebhook({
  name: 'claim-finalizer',
  type: 'mutating',
  resources: [dataSourceClaims],
  // Not an update: a user may remove the finalizer.
  operations: ['CREATE'],
  matchCondition: {
    name: 'has-no-finalizer-of-lodestone',
    expression: `!has(object.metadata.finalizers) || !('${CLAIM_FINALIZER}' in object.metadata.finalizers)`,
  },
  // The loop adds it to a claim that admission did not see.
  failurePolicy: 'Ignore',
  gather: ({ object }, { loopsEnabled }) => ({ claim: object as DataSourceClaim, loopsEnabled }),
  decide: ({ claim, loopsEnabled }) => (loopsEnabled ? protectClaim(claim) : { kind: 'allow' }),
})
