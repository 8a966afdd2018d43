// Operations on sets of names. The ones of ECMAScript 2025 are not in the library that this project compiles against.

export function minus(set: ReadonlySet<string>, other: ReadonlySet<string>): Set<string> {
  return new Set([...set].filter((name) => !other.has(name)))
}

export function common(set: ReadonlySet<string>, other: ReadonlySet<string>): Set<string> {
  return new Set([...set].filter((name) => other.has(name)))
}

export function isSameSet(set: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return set.size === other.size && [...set].every((name) => other.has(name))
}
