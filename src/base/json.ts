/** Functions for JSON values that share unchanged subtrees instead of copying them. */

/**
 * Whether two JSON values are equal. Shared subtrees are skipped. The order of keys does not matter, and an `undefined` member counts as
 * absent.
 */
export function jsonEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, i) => jsonEqual(item, b[i]))
  }
  if (Array.isArray(b)) return false
  return covers(a, b) && covers(b, a, false)
}

/** Whether `b` has every defined member of `a`; with `byValue`, the values must be equal too. */
function covers(a: object, b: object, byValue = true): boolean {
  for (const key of Object.keys(a)) {
    const value = (a as Record<string, unknown>)[key]
    if (value === undefined) continue
    if (!Object.hasOwn(b, key)) return false
    const other = (b as Record<string, unknown>)[key]
    if (other === undefined || (byValue && value !== other && !jsonEqual(value, other))) return false
  }
  return true
}

/**
 * Returns the value without its empty arrays and objects, at any depth. Returns the same value if it has none, and `undefined` if nothing
 * is left.
 *
 * Karmada's scheduler compares a placement with its own round trip through Go's `omitempty`. An empty list or map would look changed at
 * every write and cause endless rescheduling (pkg/scheduler/helper.go, placementChanged).
 */
export function withoutEmpties<T>(value: T): T | undefined {
  if (typeof value !== 'object' || value === null) return value
  if (isEmpty(value)) return undefined
  if (!hasEmpties(value)) return value
  if (Array.isArray(value)) return value.map((item) => withoutEmpties(item) ?? item) as T
  const kept = Object.entries(value).flatMap(([key, member]) => {
    const cleaned = withoutEmpties(member)
    return cleaned === undefined ? [] : [[key, cleaned]]
  })
  return kept.length === 0 ? undefined : (Object.fromEntries(kept) as T)
}

function isEmpty(value: object): boolean {
  if (Array.isArray(value)) return value.length === 0
  for (const _ in value) return false
  return true
}

/** Whether the value contains an empty array or object, or an `undefined` member, at any depth. */
function hasEmpties(value: object): boolean {
  const members: unknown[] = Array.isArray(value) ? value : Object.values(value)
  return members.some(
    (member) =>
      member === undefined ||
      (typeof member === 'object' && member !== null && (isEmpty(member) || hasEmpties(member))),
  )
}

/**
 * Returns the value without members that are null, at any depth; items of lists stay. Returns the same value if it has none.
 *
 * An API server drops such a member before admission, unless the field is nullable. For custom resources, see
 * PruneNonNullableNullsWithoutDefaults in apiextensions-apiserver (pkg/apiserver/schema/defaulting).
 */
export function withoutNulls<T>(value: T): T {
  if (!isObject(value) && !Array.isArray(value)) return value
  const members = Object.entries(value)
  const kept = Array.isArray(value) ? members : members.filter(([, member]) => member !== null)
  const pruned = kept.map(([key, member]) => [key, withoutNulls(member)] as const)
  if (kept.length === members.length && pruned.every(([, member], i) => member === kept[i]?.[1])) return value
  return (Array.isArray(value) ? pruned.map(([, member]) => member) : Object.fromEntries(pruned)) as T
}

/** A shorter list is searched directly: a Set would cost more than it saves. */
const FEW = 8

/** Cached sets: lists that are parsed or cached never change, and a decision compiles the same list several times. */
const sets = new WeakMap<readonly string[], ReadonlySet<string>>()

/** Compiles a list for many look-ups. The result says whether a text is in the list, at a constant cost. */
export function membership(list: readonly string[]): (text: string) => boolean {
  if (list.length <= FEW) return (text) => list.includes(text)
  const set = sets.get(list) ?? new Set(list)
  sets.set(list, set)
  return (text) => set.has(text)
}

/** More members than this are listed once. */
const MANY_MEMBERS = 1000

/** The names of large objects: objects that are parsed or cached never change. */
const knownNames = new WeakMap<object, readonly string[]>()

/** Returns the names of the members of an object that never changes. V8 sorts those of a large object each time they are listed. */
export function memberNames(object: object): readonly string[] {
  const known = knownNames.get(object)
  if (known) return known
  const names = Object.keys(object)
  if (names.length > MANY_MEMBERS) knownNames.set(object, names)
  return names
}

/** Parses JSON that may be missing or written by another program. Returns undefined for a value that is no string, or not JSON. */
export function parseJson(text: unknown): unknown {
  if (typeof text !== 'string') return undefined
  try {
    return JSON.parse(text)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return undefined
  }
}

/** Whether a value is a JSON object: neither null nor a list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Sorts strings by code unit and removes duplicates: the order of every list that Lodestone writes. */
export function sortedUnique(values: Iterable<string>): string[] {
  const unique = [...new Set(values)]
  return unique.length < 2 ? unique : unique.sort()
}

/** Whether two lists have the same strings, in any order. */
export function isSameSet(a: readonly string[], b: readonly string[]): boolean {
  return jsonEqual(sortedUnique(a), sortedUnique(b))
}

/** A replacer for `JSON.stringify` that sorts the members of each object, so that equal values have equal texts. */
export function sortedMembers(_name: string, value: unknown): unknown {
  return isObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value
}

/** Whether a value is a safe integer of at least 0. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

/** Returns a copy of an object without the members with these names. */
export function without<T extends object, K extends keyof T>(object: T, ...names: readonly K[]): Omit<T, K> {
  const dropped: ReadonlySet<PropertyKey> = new Set(names)
  // An object whose members were deleted would be slow to read.
  return Object.fromEntries(Object.entries(object).filter(([name]) => !dropped.has(name))) as Omit<T, K>
}

/** An object type whose members that may be `undefined` are optional instead. */
type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> } & {
  [K in keyof T as undefined extends T[K] ? never : K]: T[K]
}

/**
 * Returns an object literal without its members that are `undefined`, in the same order. Other empty values stay: null, zero, `false`,
 * and the empty text.
 *
 * The names must be the program's own: do not spread a map with a user's keys into the literal.
 */
export function defined<T extends object>(members: T): Defined<T> {
  const kept: Partial<T> = {}
  for (const name in members) {
    if (members[name] !== undefined) kept[name] = members[name]
  }
  return kept as Defined<T>
}
