/** Applies JSON merge patches (RFC 7386), for stores that have no API server to do it. */

type Members = Record<string, unknown>

/** What `target` becomes: null removes a member, an object is merged, anything else replaces. `target` stays as it is. */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const members = new Map(isObject(target) ? Object.entries(target) : [])
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) members.delete(name)
    else members.set(name, applyMergePatch(members.get(name), value))
  }
  // Not by assignment: a member called `__proto__` is a member like any other.
  return Object.fromEntries(members)
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
