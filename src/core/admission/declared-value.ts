/** Tells a value that the user of an object declares from one that only Lodestone wrote. */
import { type K8sObject, LAST_APPLIED_ANNOTATION } from '../../api/meta.ts'
import { isObject, parseJson } from '../../base/json.ts'

type Path = readonly (string | number)[]

/** Whether one manifest or field manager of an object has a value at a path. */
type Declaration = (path: Path) => boolean

/** Returns whether a user declares the value at a path without the note of Lodestone beside it. */
export type IsDeclared = (value: Path, note: Path) => boolean

/**
 * Finds what users declare in an object: in the manifest that kubectl applied last, or as field managers of the API server. A merge keeps
 * what Lodestone added, so the object alone does not show whose value it is.
 *
 * The API server records field managers before mutating admission (apiserver, endpoints/handlers/create.go and patch.go), so values that
 * admission adds have none. A manifest or manager that has the note too comes from a copy of a stored object, and declares nothing.
 */
export function declarationsIn(object: K8sObject): IsDeclared {
  let found: Declaration[] | undefined
  return (value, note) => {
    found ??= readDeclarations(object)
    return found.some((has) => has(value) && !has(note))
  }
}

function readDeclarations({ metadata }: K8sObject): Declaration[] {
  const applied = parseJson(metadata.annotations?.[LAST_APPLIED_ANNOTATION])
  const managers = Array.isArray(metadata.managedFields) ? metadata.managedFields : []
  return [
    (path) => hasValue(applied, path),
    ...managers.map(
      ({ fieldsV1 }): Declaration =>
        (path) =>
          hasField(fieldsV1, path),
    ),
  ]
}

function hasValue(root: unknown, path: Path): boolean {
  let value = root
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return false
    value = (value as Record<string | number, unknown>)[key]
  }
  return true
}

/** Items of lists have keys of another form (meta/v1 FieldsV1). They count as not managed. */
function hasField(tree: unknown, path: Path): boolean {
  let fields = tree
  for (const key of path) {
    const name = `f:${key}`
    if (!isObject(fields) || !Object.hasOwn(fields, name)) return false
    fields = fields[name]
  }
  return true
}
