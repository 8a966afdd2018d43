/** Validates the fields of a binding that a decision reads. */
import type { ResourceBinding } from '../../api/karmada.ts'
import { bindingSchema, withoutMetadata } from '../../api/schemas/karmada.ts'
import type { FieldError } from '../../base/field-errors.ts'
import { compileSchema } from '../../base/schema/schema-errors.ts'

const validateShape = compileSchema(withoutMetadata(bindingSchema))

/** Returns all errors in the fields that Lodestone reads. Karmada validates the other fields. */
export function validateBinding(binding: ResourceBinding): FieldError[] {
  return validateShape(binding)
}
