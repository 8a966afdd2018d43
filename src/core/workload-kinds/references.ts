/** Builds and sorts references to dependencies. */
import type { DependentObjectReference } from '../../api/dependencies.ts'
import { apiVersionOf, type ResourceType } from '../../api/meta.ts'
import { defined } from '../../base/json.ts'

/** An object by kind and name. The object that names it determines the namespace. */
export interface NamedObject {
  type: ResourceType
  name: string
}

/** Returns the named objects. No object has an invalid name, such as a placeholder that a controller replaces in each pod. */
export function named(type: ResourceType, names: Iterable<string>): NamedObject[] {
  return [...names].filter(isValidName).map((name) => ({ type, name }))
}

/** Whether a name is a DNS subdomain (apimachinery, IsDNS1123Subdomain); some kinds allow `:` too. */
function isValidName(name: string): boolean {
  return name.length <= 253 && OBJECT_NAME.test(name)
}

/** The pattern of the names of objects. */
export const OBJECT_NAME = /^[a-z0-9]([-a-z0-9.:]*[a-z0-9])?$/

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
