/** Paths into objects of any shape. The table of kinds uses them for the places of references. */

/**
 * Returns the values at a dotted path; an empty list if the path does not exist in the value. A segment is the name of a member or a
 * wildcard. `*` matches every item or member, and `*Suffix` every member whose name ends with the suffix. `**` matches the value itself and
 * every object and list below it. The empty path is the value itself.
 */
export function valuesAt(value: unknown, path: string): unknown[] {
  if (path === '') return [value]
  let found = [value]
  for (const segment of segmentsOf(path)) {
    if (found.length === 0) return found
    found = below(found, segment)
  }
  return found
}

/** The segments of each path, split once: the table of kinds has few paths, and each is read many times. */
const segments = new Map<string, readonly string[]>()

function segmentsOf(path: string): readonly string[] {
  const known = segments.get(path) ?? path.split('.')
  segments.set(path, known)
  return known
}

/** The strings at a path that are not empty. */
export function stringsAt(value: unknown, path: string): string[] {
  return valuesAt(value, path).filter(isName)
}

/** Whether a value is a name: an empty string refers to nothing. */
export function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function below(values: readonly unknown[], segment: string): unknown[] {
  const found: unknown[] = []
  if (segment === '**') for (const value of values) selfAndBelow(value, found)
  else if (segment.startsWith('*')) for (const value of values) membersEndingIn(segment.slice(1), value, found)
  else for (const value of values) memberOf(value, segment, found)
  return found
}

function memberOf(value: unknown, name: string, found: unknown[]): void {
  if (isContainer(value) && Object.hasOwn(value, name)) found.push((value as Record<string, unknown>)[name])
}

function membersEndingIn(suffix: string, value: unknown, found: unknown[]): void {
  if (!isContainer(value)) return
  if (Array.isArray(value)) {
    if (suffix === '') for (const item of value) found.push(item)
    return
  }
  for (const name of Object.keys(value)) {
    if (name.endsWith(suffix)) found.push((value as Record<string, unknown>)[name])
  }
}

/**
 * Prepares a value for many paths. The part of the paths up to `**` is evaluated once.
 *
 * @returns `valuesAt` for this value
 */
export function openPaths(root: unknown): (path: string) => unknown[] {
  const walked = new Map<string, unknown[]>()
  return (path) => {
    const end = path.indexOf('**')
    if (end < 0) return valuesAt(root, path)
    const prefix = path.slice(0, end + 2)
    const found = walked.get(prefix) ?? valuesAt(root, prefix)
    walked.set(prefix, found)
    return segmentsOf(path.slice(prefix.length + 1)).reduce(
      (values, segment) => (segment === '' ? values : below(values, segment)),
      found,
    )
  }
}

/** Iterates over a list that it extends, instead of recursion: the author of an object decides how deep it is nested. */
function selfAndBelow(value: unknown, found: unknown[]): void {
  for (let next = found.push(value) - 1; next < found.length; next++) {
    const at = found[next]
    if (!isContainer(at)) continue
    for (const member of Array.isArray(at) ? at : Object.values(at)) if (isContainer(member)) found.push(member)
  }
}

/** An object or a list. */
function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
