/** The annotation `lodestone.dev/depends-on`: objects of the namespace that a workload declares as dependencies. */
import { configMaps, ingresses, secrets, serviceAccounts, services } from '../../api/dependencies.ts'
import { DEPENDS_ON_ANNOTATION } from '../../api/lodestone.ts'
import type { K8sObject, ResourceType } from '../../api/meta.ts'
import { persistentVolumeClaims } from '../../api/persistent-volume.ts'
import type { FieldError } from '../../base/field-errors.ts'
import { defined, isObject } from '../../base/json.ts'
import { compileSchema } from '../../base/schema/schema-errors.ts'
import { suggest } from '../../base/suggest.ts'
import type { WorkloadKinds } from '../workload-kinds/kinds.ts'
import { type NamedObject, OBJECT_NAME } from '../workload-kinds/references.ts'

const MAX_DEPENDENCIES = 64
/** In characters: enough for the maximum number of the longest names. */
const MAX_ANNOTATION_LENGTH = 32 * 1024
const EXAMPLE = '[{"kind": "ConfigMap", "name": "settings"}]'
const AT = `metadata.annotations[${DEPENDS_ON_ANNOTATION}]`

const validate = compileSchema(
  {
    type: 'object',
    required: ['kind', 'name'],
    properties: {
      kind: { type: 'string', minLength: 1, maxLength: 63 },
      name: { type: 'string', maxLength: 253, pattern: OBJECT_NAME.source },
    },
  },
  'forbidden',
)

const ALWAYS: readonly ResourceType[] = [
  configMaps,
  ingresses,
  persistentVolumeClaims,
  secrets,
  serviceAccounts,
  services,
]

export type ParsedDependsOn = { objects: NamedObject[] } | { errors: FieldError[] }

/**
 * Parses the annotation of a workload. The declared objects are in its namespace: an attached binding of another namespace would be
 * garbage-collected.
 */
export function parseDependsOn({ metadata }: K8sObject, { related }: WorkloadKinds): ParsedDependsOn {
  const text = metadata.annotations?.[DEPENDS_ON_ANNOTATION]
  if (text === undefined) return { objects: [] }
  if (typeof text !== 'string') return { errors: [invalid(`must be a string; e.g. ${EXAMPLE}`)] }
  if (text.length > MAX_ANNOTATION_LENGTH)
    return { errors: [tooLong(`must have at most ${MAX_ANNOTATION_LENGTH} characters`)] }
  let list: unknown
  try {
    list = JSON.parse(text)
  } catch (error) {
    return { errors: [invalid(`is not JSON (${(error as Error).message}); e.g. ${EXAMPLE}`)] }
  }
  if (!Array.isArray(list)) return { errors: [invalid(`must be a list; e.g. ${EXAMPLE}`)] }
  if (list.length > MAX_DEPENDENCIES) {
    return { errors: [tooLong(`must have at most ${MAX_DEPENDENCIES} items, has ${list.length}`)] }
  }
  const types = new Map([...ALWAYS, ...related.map(({ type }) => type)].map((type) => [type.kind, type]))
  const errors = list.flatMap((item, i) => itemErrors(item, `${AT}[${i}]`, types))
  if (errors.length > 0) return { errors }
  const items = list as { kind: string; name: string }[]
  return {
    objects: items.flatMap(({ kind, name }) =>
      types.has(kind) ? [{ type: types.get(kind) as ResourceType, name }] : [],
    ),
  }
}

/** Returns the errors of a new or changed annotation. A stored one is not checked again, since otherwise no user could change the workload. */
export function dependsOnErrors(object: K8sObject, stored: K8sObject | undefined, kinds: WorkloadKinds): FieldError[] {
  if (!isChecked(object, stored)) return []
  const parsed = parseDependsOn(object, kinds)
  return 'errors' in parsed ? parsed.errors : []
}

/** Returns the errors of new or changed items for objects that each cluster creates for itself: such an item has no effect. */
export function neverPropagatedErrors(
  object: K8sObject,
  stored: K8sObject | undefined,
  kinds: WorkloadKinds,
): FieldError[] {
  if (!isChecked(object, stored)) return []
  const parsed = parseDependsOn(object, kinds)
  if ('errors' in parsed) return []
  const { namespace } = object.metadata
  return parsed.objects.flatMap(({ type: { kind }, name }, i) => {
    if (!kinds.isNeverPropagated(defined({ kind, name, namespace: namespace || undefined }))) return []
    const message = `${kind} "${name}" is never propagated, because each cluster creates its own; remove the item`
    return [{ path: `${AT}[${i}]`, code: 'Forbidden' as const, message }]
  })
}

/** Whether the annotation is new or changed, and the object stays. */
function isChecked(object: K8sObject, stored: K8sObject | undefined): boolean {
  const text = (one: K8sObject) => one.metadata.annotations?.[DEPENDS_ON_ANNOTATION]
  return !object.metadata.deletionTimestamp && !(stored && text(stored) === text(object))
}

function itemErrors(item: unknown, at: string, types: ReadonlyMap<string, ResourceType>): FieldError[] {
  if (isObject(item) && item['namespace'] !== undefined) {
    return [{ path: `${at}.namespace`, code: 'Forbidden', message: 'is that of the workload; remove the field' }]
  }
  const wrong = validate(item).map((error) => ({
    ...error,
    path: error.path === '(root)' ? at : `${at}.${error.path}`,
  }))
  if (wrong.length > 0) return wrong
  const { kind } = item as { kind: string }
  if (types.has(kind)) return []
  const known = [...types.keys()].sort()
  const message = `must be one of ${known.join(', ')}, or enabled by dependencies.related${suggest(kind, known)}`
  return [{ path: `${at}.kind`, code: 'NotSupported', message }]
}

function tooLong(message: string): FieldError {
  return { path: AT, code: 'TooLong', message }
}

function invalid(message: string): FieldError {
  return { path: AT, code: 'Invalid', message }
}
