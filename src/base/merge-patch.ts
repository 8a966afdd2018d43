/** Creates and applies JSON merge patches (RFC 7386). */
import { isObject, jsonEqual } from './json.ts'

type Members = Record<string, unknown>

/**
 * Returns the patch that changes `before` into `after`; undefined if they are equal. Lists are replaced as a whole, absent members removed.
 */
export function mergePatch(before: unknown, after: unknown): Members | undefined {
  if (before === after || !isObject(before) || !isObject(after)) return undefined
  const patch: Members = {}
  for (const key of Object.keys(before)) {
    if (before[key] !== undefined && after[key] === undefined) patch[key] = null
  }
  for (const key of Object.keys(after)) {
    const value = after[key]
    if (value === undefined || before[key] === value) continue
    if (isObject(before[key]) && isObject(value)) {
      const member = mergePatch(before[key], value)
      if (member) patch[key] = member
    } else if (!jsonEqual(before[key], value)) {
      patch[key] = value
    }
  }
  return Object.keys(patch).length === 0 ? undefined : patch
}

/** Applies a patch: null removes a member, an object is merged, any other value replaces. `target` is not changed. */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const members = new Map(isObject(target) ? Object.entries(target) : [])
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) members.delete(name)
    else members.set(name, applyMergePatch(members.get(name), value))
  }
  // Not by assignment: that would set the prototype for a member called `__proto__`.
  return Object.fromEntries(members)
}
