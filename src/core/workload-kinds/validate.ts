/** Validates configured workload kinds: their form, their paths, and kinds with several entries. */
import type { FieldError } from '../../base/field-errors.ts'
import { parseJsonPath } from '../../base/json-path.ts'
import { KIND, SUBDOMAIN_PATTERN } from '../../base/names.ts'
import type { WorkloadKindEntry } from './entry.ts'
import { keyOfKind } from './type-entry.ts'

const DNS_SUBDOMAIN = new RegExp(`^(${SUBDOMAIN_PATTERN})?$`)
const VERSION = /^v\d+((alpha|beta)\d+)?$/
const PLURAL = /^[a-z][a-z0-9]*$/

/** The fields with paths at which admission writes: each segment is a name or `[*]`. */
const WRITTEN = ['templates', 'podMetadata'] as const
const READ = ['podSpecs', 'containers', 'claimTemplates', 'backends'] as const

/** Returns the errors in the list `workloadKinds` that the schema does not find. */
export function validateWorkloadKinds(entries: readonly WorkloadKindEntry[]): FieldError[] {
  const seen = new Set<string>()
  return entries.flatMap((entry, i) => {
    const key = keyOfKind(entry)
    const at = `workloadKinds[${i}]`
    const twice = seen.has(key) ? [invalid(`${at}.kind`, entry.kind, 'must have one entry; join both')] : []
    seen.add(key)
    return [...twice, ...entryErrors(entry, at)]
  })
}

function entryErrors(entry: WorkloadKindEntry, at: string): FieldError[] {
  const { group, versions, kind, plural, allPods, namespace, references = [], inherits } = entry
  const paths = (fields: readonly (keyof WorkloadKindEntry)[], check: (path: string) => string | undefined) =>
    fields.flatMap((field) =>
      ((entry[field] ?? []) as string[]).flatMap((path, i) => pathErrors(`${at}.${field}[${i}]`, path, check)),
    )
  return [
    ...matches(`${at}.group`, group, DNS_SUBDOMAIN, 'must be an API group, e.g. example.com'),
    ...versions.flatMap((version, i) => matches(`${at}.versions[${i}]`, version, VERSION, 'must be e.g. v1beta1')),
    ...matches(`${at}.kind`, kind, KIND, 'must be a kind, e.g. TrainJob'),
    ...matches(`${at}.plural`, plural, PLURAL, 'must be the resource of the kind, e.g. trainjobs'),
    ...paths(WRITTEN, writable),
    ...paths(READ, readable),
    ...(allPods === undefined ? [] : pathErrors(`${at}.allPods`, allPods, single)),
    ...(namespace === undefined ? [] : pathErrors(`${at}.namespace`, namespace, readable)),
    ...references.flatMap(({ path }, i) => pathErrors(`${at}.references[${i}].path`, path, readable)),
    ...(inherits && allPods !== undefined
      ? [invalid(`${at}.allPods`, allPods, 'must not be set with inherits; choose one')]
      : []),
  ]
}

function pathErrors(at: string, path: string, check: (path: string) => string | undefined): FieldError[] {
  const problem = check(path)
  return problem === undefined ? [] : [invalid(at, path, problem)]
}

function readable(path: string): string | undefined {
  const parsed = parseJsonPath(path)
  return 'error' in parsed ? parsed.error : undefined
}

/** The condition of the webhook has the same path in CEL, and admission writes back at the place of a value. */
function writable(path: string): string | undefined {
  const parsed = parseJsonPath(path)
  if ('error' in parsed) return parsed.error
  if (parsed.segments.every((segment) => segment === '*' || !segment.startsWith('*'))) return undefined
  return 'must consist of names and [*], because annotations are written there'
}

function single(path: string): string | undefined {
  const parsed = parseJsonPath(path)
  if ('error' in parsed) return parsed.error
  return parsed.segments.some((segment) => segment.startsWith('*')) ? 'must name one object, without [*]' : undefined
}

function matches(at: string, value: string, pattern: RegExp, message: string): FieldError[] {
  return pattern.test(value) ? [] : [invalid(at, value, message)]
}

function invalid(path: string, value: string, message: string): FieldError {
  return { path, code: 'Invalid', message: `Invalid value: "${value}": ${message}` }
}
