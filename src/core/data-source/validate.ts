/** Validates a DataSource: first its schema, then its values. */
import type { DataSource } from '../../api/data-source.ts'
import { dataSourceSchema, MAX_CLUSTER_NAMES } from '../../api/schemas/data-source.ts'
import type { FieldError } from '../../base/field-errors.ts'
import { defined } from '../../base/json.ts'
import { labelProblem } from '../../base/names.ts'
import { compileSchema } from '../../base/schema/schema-errors.ts'

const validateShape = compileSchema(dataSourceSchema, 'forbidden')

/** Karmada's limit for a cluster's name (pkg/util/validation, clusterNameMaxLength). */
export const MAX_CLUSTER_NAME_LENGTH = 48

/** The words of claims, and of volcano-global's deploy guide, for fields of a DataSource. */
const OTHER_WORDS: Readonly<Record<string, string>> = {
  'spec.dataSourceType': 'spec.type',
  'spec.dataSourceName': 'spec.name',
  'spec.location': 'spec.locality.location',
  'spec.clusters': 'spec.locality.clusterNames',
  'spec.status': 'status.phase',
}

/** Returns all errors of a source, by path; an empty list means valid. */
export function validateDataSource({ spec, status }: DataSource): FieldError[] {
  const shape = validateShape(defined({ spec, status }))
  const wrong = new Set(shape.map(({ path }) => path))
  return [...shape.map(withKnownWord), ...meaning(spec).filter(({ path }) => !wrong.has(path))]
}

function withKnownWord(error: FieldError): FieldError {
  const known = OTHER_WORDS[error.path]
  return known === undefined ? error : { ...error, message: `${error.message}; use ${known}` }
}

function meaning(spec: DataSource['spec'] | undefined): FieldError[] {
  const names: unknown = spec?.locality?.clusterNames
  return Array.isArray(names) ? clusterNameErrors(names) : []
}

function clusterNameErrors(names: readonly unknown[]): FieldError[] {
  // The schema limits the number of names.
  if (names.length > MAX_CLUSTER_NAMES) return []
  const seen = new Set<string>()
  return names.flatMap((name, i): FieldError[] => {
    if (typeof name !== 'string') return []
    const isDuplicate = seen.has(name)
    seen.add(name)
    const path = `spec.locality.clusterNames[${i}]`
    const problem = labelProblem(name, MAX_CLUSTER_NAME_LENGTH)
    if (problem !== undefined) return [{ path, code: 'Invalid', message: problem }]
    return isDuplicate ? [{ path, code: 'Duplicate', message: `Duplicate value: "${name}"` }] : []
  })
}
