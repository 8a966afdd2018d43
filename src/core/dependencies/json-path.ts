/** Paths into objects of any shape: how the table of kinds says where references stand. */

/**
 * The values at a dotted path; none where the path leads nowhere, whatever is there instead. A segment is a member's name, `*` (every item
 * or member), `*Suffix` (every member whose name ends so), or `**` (the value itself and everything below it). The empty path is the value
 * itself.
 */
export function valuesAt(value: unknown, path: string): unknown[] {
  if (path === '') return [value]
  let found = [value]
  for (const segment of path.split('.')) {
    if (found.length === 0) return found
    found = below(found, segment)
  }
  return found
}

/** The strings at a path that are not empty: an empty name refers to nothing. */
export function stringsAt(value: unknown, path: string): string[] {
  return valuesAt(value, path).filter((found) => typeof found === 'string' && found !== '') as string[]
}

function below(values: readonly unknown[], segment: string): unknown[] {
  const found: unknown[] = []
  for (const value of values) {
    if (segment === '**') selfAndBelow(value, found)
    else if (typeof value !== 'object' || value === null) continue
    else if (segment.startsWith('*')) membersEndingIn(segment.slice(1), value, found)
    else if (Object.hasOwn(value, segment)) found.push((value as Record<string, unknown>)[segment])
  }
  return found
}

function membersEndingIn(suffix: string, value: object, found: unknown[]): void {
  for (const [name, member] of Object.entries(value)) if (name.endsWith(suffix)) found.push(member)
}

/** Walks a list that it grows instead of recursing: how deep an object is nested is up to who wrote it. */
function selfAndBelow(value: unknown, found: unknown[]): void {
  for (let next = found.push(value) - 1; next < found.length; next++) {
    const at = found[next]
    if (typeof at === 'object' && at !== null) membersEndingIn('', at, found)
  }
}
