/** Validates the fields of a policy that a decision reads. */
import type { PropagationPolicy } from '../../api/karmada.ts'
import { policySchema, withoutMetadata } from '../../api/schemas/karmada.ts'
import type { FieldError } from '../../base/field-errors.ts'
import { compileSchema } from '../../base/schema/schema-errors.ts'

const validateShape = compileSchema(withoutMetadata(policySchema))

/** Returns all errors in the fields that Lodestone reads. Karmada validates the other fields. */
export function validatePolicy(policy: PropagationPolicy): FieldError[] {
  return validateShape(policy)
}
