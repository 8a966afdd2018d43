/** Whether a binding has the shape that a decision can read. */
import type { ResourceBinding } from '../../api/karmada.ts'
import { bindingSchema } from '../../api/karmada-schema.ts'
import type { FieldError } from '../field-errors.ts'
import { compileSchema } from '../schema-errors.ts'

const validateShape = compileSchema(bindingSchema)

/** What is wrong with the parts of a binding that we read; the rest is Karmada's business. */
export function validateBinding(binding: ResourceBinding): FieldError[] {
  return validateShape(binding)
}
