/** Validates the fields of a pod spec that Lodestone reads. */
import type { PodSpec } from '../../api/pod.ts'
import { podSpecSchema } from '../../api/schemas/pod.ts'
import type { FieldError } from '../../base/field-errors.ts'
import { withoutNullFields } from '../../base/schema/null-fields.ts'
import { compileSchema } from '../../base/schema/schema-errors.ts'

const validate = compileSchema(podSpecSchema)

/** @param at the path of the pod spec in the object */
export function validatePodSpec(spec: unknown, at = 'spec'): FieldError[] {
  return validate(spec).map((error) => ({ ...error, path: error.path === '(root)' ? at : `${at}.${error.path}` }))
}

/** Returns the pod spec of a template, in which fields may be null; undefined if it is invalid. */
export function readPodSpec(spec: unknown): PodSpec | undefined {
  if (validate.isValid(spec)) return spec as PodSpec
  const read = withoutNullFields(podSpecSchema, spec)
  return read !== spec && validate.isValid(read) ? (read as PodSpec) : undefined
}
