/** Admission of claims: refuses what cannot be meant, with every reason in one answer. */
import { type DataSourceClaim, dataSourceClaims } from '../api/data-source-claim.ts'
import { validateDataSourceClaim } from '../core/data-source-claim/validate.ts'
import { refuseErrors } from '../core/outcome.ts'
import { defineWebhook } from './define.ts'

export const dataSourceClaim = defineWebhook({
  name: 'data-source-claim',
  type: 'validating',
  resources: [dataSourceClaims],
  operations: ['CREATE', 'UPDATE'],
  failurePolicy: 'FailWhereEnforced',
  gather: ({ object }) => object as DataSourceClaim,
  decide: (claim) => refuseErrors(validateDataSourceClaim(claim)),
})
