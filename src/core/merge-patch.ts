/** JSON merge patches (RFC 7386): what to send so that an object becomes another one. */

type Members = Record<string, unknown>

/** The patch that turns `before` into `after`; undefined when they are equal. Lists are replaced as a whole, absent members removed. */
export function mergePatch(before: unknown, after: unknown): Members | undefined {
  if (before === after || !isObject(before) || !isObject(after)) return undefined
  const patch: Members = {}
  for (const key of Object.keys(before)) {
    if (before[key] !== undefined && after[key] === undefined) patch[key] = null
  }
  for (const key of Object.keys(after)) {
    const value = after[key]
    if (value === undefined || before[key] === value) continue
    const member =
      isObject(before[key]) && isObject(value) ? mergePatch(before[key], value) : changed(before[key], value)
    if (member !== undefined) patch[key] = member
  }
  return Object.keys(patch).length === 0 ? undefined : patch
}

function changed(before: unknown, after: unknown): unknown {
  return JSON.stringify(before) === JSON.stringify(after) ? undefined : after
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
