/** Paths into objects of any shape: how the table of kinds says where references stand. */

/**
 * The values at a dotted path, in no particular order of meaning; none where the path leads nowhere, whatever is there instead.
 * A segment is a member's name, `*` (every item or member), `*Suffix` (every member whose name ends so), or `**` (the value itself and
 * everything below it). The empty path is the value itself.
 */
export function valuesAt(value: unknown, path: string): unknown[] {
  return path === '' ? [value] : path.split('.').reduce((found, segment) => found.flatMap(step(segment)), [value])
}

/** The strings at a path that are not empty: an empty name refers to nothing. */
export function stringsAt(value: unknown, path: string): string[] {
  return valuesAt(value, path).filter((found) => typeof found === 'string' && found !== '') as string[]
}

function step(segment: string): (value: unknown) => unknown[] {
  if (segment === '**') return selfAndBelow
  if (segment === '*') return members
  if (segment.startsWith('*')) {
    const suffix = segment.slice(1)
    return (value) => (isContainer(value) ? endingIn(value, suffix) : [])
  }
  return (value) => (isContainer(value) && Object.hasOwn(value, segment) ? [value[segment]] : [])
}

function members(value: unknown): unknown[] {
  return isContainer(value) ? Object.values(value) : []
}

function endingIn(value: Record<string, unknown>, suffix: string): unknown[] {
  return Object.keys(value)
    .filter((name) => name.endsWith(suffix))
    .map((name) => value[name])
}

/** Grows the list while it is walked instead of recursing: how deep an object is nested is up to who wrote it. */
function selfAndBelow(value: unknown): unknown[] {
  const found = [value]
  for (const next of found) found.push(...members(next))
  return found
}

function isContainer(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
