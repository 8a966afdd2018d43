/** Validates the fields of a policy that a decision reads. */
import type { PropagationPolicy } from '../../api/karmada.ts'
import { policySchema } from '../../api/karmada-schema.ts'
import type { FieldError } from '../field-errors.ts'
import { compileSchema } from '../schema-errors.ts'

const validateShape = compileSchema(policySchema)

/** All errors of the fields that we read; Karmada validates the others. */
export function validatePolicy(policy: PropagationPolicy): FieldError[] {
  return validateShape(policy)
}
