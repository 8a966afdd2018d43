/** Validates the dependencies that a workload in a request declares. */
import type { AdmissionRequest } from '../api/admission.ts'
import type { K8sObject } from '../api/meta.ts'
import { dependsOnErrors } from '../core/dependencies/depends-on.ts'
import type { FieldError } from '../core/field-errors.ts'
import type { WorkloadKinds } from '../core/workload-kinds/kinds.ts'
import type { ObjectStore } from '../store/store.ts'
import { isHub } from './volumes.ts'

/**
 * Returns the errors of a new or changed annotation `lodestone.dev/depends-on`.
 *
 * Karmada copies workloads with their annotations to members. The configuration of a member does not have the kinds that the hub enables,
 * so a member accepts all kinds.
 */
export function declaredErrors(
  { object, oldObject }: Pick<AdmissionRequest, 'oldObject'> & { object: K8sObject },
  kinds: WorkloadKinds,
  store: ObjectStore,
): FieldError[] {
  const errors = dependsOnErrors(object, oldObject ?? undefined, kinds)
  return errors.length === 0 || isHub(store) ? errors : errors.filter(({ code }) => code !== 'NotSupported')
}
