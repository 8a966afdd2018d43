/** Whether a policy has the shape that a decision can read. */
import type { PropagationPolicy } from '../../api/karmada.ts'
import { policySchema } from '../../api/karmada-schema.ts'
import type { FieldError } from '../field-errors.ts'
import { compileSchema } from '../schema-errors.ts'

const validateShape = compileSchema(policySchema)

/** What is wrong with the parts of a policy that we read; the rest is Karmada's business. */
export function validatePolicy(policy: PropagationPolicy): FieldError[] {
  return validateShape(policy)
}
