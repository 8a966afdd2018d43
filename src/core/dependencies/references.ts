/** References to dependencies: how they are made and ordered. */
import type { DependentObjectReference } from '../../api/dependencies.ts'
import { apiVersionOf, type ResourceType } from '../../api/meta.ts'

/** An object by kind and name; its namespace follows from the object that names it. */
export interface NamedObject {
  type: ResourceType
  name: string
}

/** The same kind under several names. */
export function named(type: ResourceType, names: Iterable<string>): NamedObject[] {
  return [...names].map((name) => ({ type, name }))
}

export function referenceTo({ type, name }: NamedObject, namespace: string | undefined): DependentObjectReference {
  return { apiVersion: apiVersionOf(type), kind: type.kind, ...(namespace && { namespace }), name }
}

/** The references by apiVersion, kind, namespace and name, each once: the same set is always the same bytes. */
export function sortedReferences(references: Iterable<DependentObjectReference>): DependentObjectReference[] {
  const byOrder = new Map<string, DependentObjectReference>()
  for (const reference of references) byOrder.set(orderOf(reference), reference)
  return [...byOrder].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, reference]) => reference)
}

/** NUL is below every character of a name, so that the parts are compared one by one. */
function orderOf({ apiVersion, kind, namespace = '', name = '', labelSelector }: DependentObjectReference): string {
  return [apiVersion, kind, namespace, name, labelSelector ? JSON.stringify(labelSelector) : ''].join('\0')
}
