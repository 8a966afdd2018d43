/** Builds and sorts references to dependencies. */
import type { DependentObjectReference } from '../../api/dependencies.ts'
import { apiVersionOf, type ResourceType } from '../../api/meta.ts'
import { defined } from '../../base/json.ts'

/** An object by kind and name. The object that names it determines the namespace. */
export interface NamedObject {
  type: ResourceType
  name: string
}

export function named(type: ResourceType, names: Iterable<string>): NamedObject[] {
  return [...names].map((name) => ({ type, name }))
}

export function referenceTo({ type, name }: NamedObject, namespace: string | undefined): DependentObjectReference {
  return defined({ apiVersion: apiVersionOf(type), kind: type.kind, namespace: namespace || undefined, name })
}

/** Sorts references by apiVersion, kind, namespace and name, and removes duplicates: the same set always gives the same bytes. */
export function sortedReferences(references: Iterable<DependentObjectReference>): DependentObjectReference[] {
  const byOrder = new Map<string, DependentObjectReference>()
  for (const reference of references) byOrder.set(referenceSortKey(reference), reference)
  return [...byOrder].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, reference]) => reference)
}

/** NUL sorts before every character of a name, so the parts are compared one by one. */
function referenceSortKey({
  apiVersion,
  kind,
  namespace = '',
  name = '',
  labelSelector,
}: DependentObjectReference): string {
  return [apiVersion, kind, namespace, name, labelSelector ? JSON.stringify(labelSelector) : ''].join('\0')
}
