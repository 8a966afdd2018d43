/** Validates the fields of a pod spec that Lodestone reads. */
import { podSpecSchema } from '../../api/schemas/pod.ts'
import type { FieldError } from '../../base/field-errors.ts'
import { compileSchema } from '../../base/schema/schema-errors.ts'

const validate = compileSchema(podSpecSchema)

/** @param at the path of the pod spec in the object */
export function validatePodSpec(spec: unknown, at = 'spec'): FieldError[] {
  return validate(spec).map((error) => ({ ...error, path: error.path === '(root)' ? at : `${at}.${error.path}` }))
}
