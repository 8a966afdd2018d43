/** JSONPath into objects of any shape, as far as the table of workload kinds needs it. */

export type ParsedPath = { segments: readonly string[] } | { error: string }

/** One step: `..` before a name, `.name`, `[*]`, or a quoted name. */
const STEP = /(\.\.?)?(?:(\*?[A-Za-z_][\w-]*|\*)|\[(\*)\]|\['([^']+)'\])/y

/**
 * Parses a path into its segments: names and wildcards.
 *
 * - `.name`, `['name.with.dots']`: a member. The first dot and `$` may be absent.
 * - `[*]`, `.*`: every item or member. `.*Suffix`: every member whose name ends with the suffix, an extension of JSONPath.
 * - `..name`: the member of the value itself and of every object and list below it. `..*`: these objects and lists.
 */
export function parseJsonPath(path: string): ParsedPath {
  const segments: string[] = []
  STEP.lastIndex = path.startsWith('$') ? 1 : 0
  while (STEP.lastIndex < path.length) {
    const at = STEP.lastIndex
    const step = STEP.exec(path)
    const [, dots, name, star, quoted] = step ?? []
    const isJoined = name !== undefined && dots === undefined && segments.length > 0
    if (!step || isJoined) return { error: `must be a JSONPath, e.g. spec.tasks[*].template; not "${path.slice(at)}"` }
    const deep = dots === '..'
    const segment = name ?? star ?? quoted ?? ''
    if (deep) segments.push('**')
    if (!deep || segment !== '*') segments.push(segment)
  }
  return { segments }
}

/** Returns the values at a path; an empty list if the path does not exist in the value. The empty path is the value itself. */
export function valuesAt(value: unknown, path: string): unknown[] {
  let found = [value]
  for (const segment of pathSegments(path)) {
    if (found.length === 0) return found
    found = below(found, segment)
  }
  return found
}

/** The segments of each path, split once: the tables have few paths, and each is read many times. */
const segments = new Map<string, readonly string[]>()

/** Returns the segments of a valid path. Throws for an invalid path, since the configuration is validated before. */
export function pathSegments(path: string): readonly string[] {
  const known = segments.get(path)
  if (known) return known
  const parsed = parseJsonPath(path)
  if ('error' in parsed) throw new Error(`path ${path}: ${parsed.error}`)
  segments.set(path, parsed.segments)
  return parsed.segments
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
  else for (const value of values) collectMember(value, segment, found)
  return found
}

function collectMember(value: unknown, name: string, found: unknown[]): void {
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
 * Prepares a value for many paths. The part of the paths up to `..` is evaluated once.
 *
 * @returns `valuesAt` for this value
 */
export function openPaths(root: unknown): (path: string) => unknown[] {
  const walked = new Map<string, unknown[]>()
  return (path) => {
    const all = pathSegments(path)
    const end = all.indexOf('**') + 1
    if (end === 0) return valuesAt(root, path)
    const prefix = all.slice(0, end)
    const key = prefix.join('.')
    const found = walked.get(key) ?? prefix.reduce<unknown[]>(below, [root])
    walked.set(key, found)
    return all.slice(end).reduce<unknown[]>(below, found)
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
