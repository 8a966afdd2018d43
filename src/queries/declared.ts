/** Validates the dependencies that a workload in a request declares. */
import type { AdmissionRequest } from '../api/admission.ts'
import type { K8sObject } from '../api/meta.ts'
import type { FieldError } from '../base/field-errors.ts'
import { dependsOnErrors, neverPropagatedErrors } from '../core/dependencies/depends-on.ts'
import type { WorkloadKinds } from '../core/workload-kinds/kinds.ts'
import type { ObjectStore } from '../store/store.ts'
import { isHub } from './volumes.ts'

/**
 * Returns the errors of a new or changed annotation `lodestone.dev/depends-on`.
 *
 * Karmada copies workloads with their annotations to members. The configuration of a member does not have the kinds that the hub enables,
 * so a member accepts all kinds. It propagates nothing, so it also accepts objects that are never propagated.
 */
export function declaredErrors(
  { object, oldObject }: Pick<AdmissionRequest, 'oldObject'> & { object: K8sObject },
  kinds: WorkloadKinds,
  store: ObjectStore,
): FieldError[] {
  const stored = oldObject ?? undefined
  const errors = dependsOnErrors(object, stored, kinds)
  if (errors.length > 0) return isHub(store) ? errors : errors.filter(({ code }) => code !== 'NotSupported')
  const without = neverPropagatedErrors(object, stored, kinds)
  return without.length === 0 || isHub(store) ? without : []
}
