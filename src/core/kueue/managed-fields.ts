/** Extracts what a field manager applied to an object, as the `Extract` functions of client-go do. */
import type { K8sObject } from '../../api/meta.ts'
import { isObject, parseJson } from '../../base/json.ts'

/**
 * Returns the fields that the last server-side apply of a manager to a subresource owns, with their present values. An apply with the same
 * fields keeps them; one that lacks a field removes it. The result is empty if the manager applied nothing.
 */
export function appliedFields(object: K8sObject, manager: string, subresource: string): Record<string, unknown> {
  const entry = object.metadata.managedFields?.find(
    (one) => one.manager === manager && one.operation === 'Apply' && (one.subresource ?? '') === subresource,
  )
  const fields = entry?.fieldsV1
  return isObject(fields) ? (ownedPart(object, fields) as Record<string, unknown>) : {}
}

/** The part of a value that a tree of fields names. A tree without members owns the whole value. */
function ownedPart(value: unknown, fields: Record<string, unknown>): unknown {
  const members = Object.entries(fields).filter(([key]) => key !== '.')
  if (Object.keys(fields).length === 0) return value
  if (Array.isArray(value)) return ownedItems(value, members)
  if (!isObject(value)) return {}
  return Object.fromEntries(
    members.flatMap(([key, of]) => {
      const name = key.slice(FIELD.length)
      return key.startsWith(FIELD) && name in value
        ? [[name, isObject(of) ? ownedPart(value[name], of) : value[name]]]
        : []
    }),
  )
}

/** The items of a list that the keys of a tree name. After `k:` are the key fields of an item, after `v:` is an item of a set. */
function ownedItems(list: readonly unknown[], members: readonly [string, unknown][]): unknown[] {
  const find = indexItems(list)
  return members.flatMap(([key, of]) => {
    const named: unknown = key.startsWith(ITEM) || key.startsWith(VALUE) ? parseJson(key.slice(ITEM.length)) : undefined
    if (key.startsWith(VALUE)) return find([], named) === undefined ? [] : [named]
    if (!isObject(named)) return []
    const item = find(Object.keys(named), named)
    return isObject(item) ? [{ ...named, ...(isObject(of) && (ownedPart(item, of) as object)) }] : []
  })
}

/** Returns a function that finds the item with the same values of some fields, or the same item without names. Each list of names is indexed once. */
function indexItems(list: readonly unknown[]): (names: readonly string[], like: unknown) => unknown {
  const indexes = new Map<string, Map<string, unknown>>()
  const keyOf = (item: unknown, names: readonly string[]) =>
    JSON.stringify(names.length > 0 && isObject(item) ? names.map((name) => item[name]) : item)
  return (names, like) => {
    const known = indexes.get(names.join())
    // The first of equal items counts, so it is written last.
    const index = known ?? new Map(list.toReversed().map((item) => [keyOf(item, names), item]))
    if (!known) indexes.set(names.join(), index)
    return index.get(keyOf(like, names))
  }
}

const FIELD = 'f:'
const ITEM = 'k:'
const VALUE = 'v:'
