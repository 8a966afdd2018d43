/** Admission of DataSourceClaims: rejects malformed and forbidden objects, with all errors in one response. */
import { type DataSourceClaim, dataSourceClaims } from '../api/data-source-claim.ts'
import { defined } from '../base/json.ts'
import { admitClaim, validateDataSourceClaim } from '../core/data-source-claim/validate.ts'
import { refusalOfClaim } from '../queries/permission.ts'
import { defineWebhook } from './define.ts'

export const dataSourceClaim = defineWebhook({
  name: 'data-source-claim',
  type: 'validating',
  resources: [dataSourceClaims],
  operations: ['CREATE', 'UPDATE'],
  failurePolicy: 'FailWhereEnforced',
  gather({ object, oldObject, namespace }, { store, clusterScopedClaims, matrix }) {
    // A claim that is being created may have no namespace of its own (kube-apiserver before 1.27).
    const own = namespace || object.metadata.namespace
    const claim = {
      ...object,
      metadata: { ...object.metadata, ...defined({ namespace: own || undefined }) },
    } as DataSourceClaim
    const errors = validateDataSourceClaim(claim)
    return {
      claim,
      stored: (oldObject ?? undefined) as DataSourceClaim | undefined,
      errors,
      // The permission of a malformed claim cannot be checked.
      refusal: errors.length === 0 ? refusalOfClaim(claim, store, clusterScopedClaims) : undefined,
      hasPrices: matrix !== undefined,
    }
  },
  decide: admitClaim,
})
