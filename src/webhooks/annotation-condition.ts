/** Builds the CEL expressions by which an API server filters objects with annotations of Lodestone. They need Kubernetes 1.28. */
import { pathSegments } from '../base/json-path.ts'
import { IN_OUR_KEYS } from '../core/workload/requests/annotation-keys.ts'

/**
 * Returns an expression: whether the object itself, or an object at one of these paths, has a key of Lodestone or a similar one. A client
 * that removes all annotations of a pod template leaves the label, so labels count too.
 *
 * The expression must not fail for any object, since a failure counts as a failure of Lodestone. So each step checks the type of its value.
 */
export function hasOurKey(paths: readonly string[]): string {
  return isMarkedAt('object', [['metadata'], ...new Map(paths.map((path) => [path, pathSegments(path)])).values()], 0)
}

/** Returns an expression: whether the object itself has an annotation for workloads, or a key that begins in the same way. */
export function hasWorkloadAnnotation(...keys: readonly string[]): string {
  const prefixes = keys.map((key) => key.slice(0, key.indexOf('/') + 4))
  const begins = prefixes.map((prefix) => `k.startsWith('${prefix}')`)
  return `has(object.metadata.annotations) && object.metadata.annotations.exists(k, ${begins.join(' || ')})`
}

/** Returns an expression: whether an object of one of these kinds owns the object. */
export function hasOwnerOf(kinds: readonly string[]): string {
  const list = [...new Set(kinds)].map((kind) => `'${kind}'`).join(', ')
  return `has(object.metadata.ownerReferences) && object.metadata.ownerReferences.exists(o, o.kind in [${list}])`
}

function isMarkedAt(value: string, paths: readonly (readonly string[])[], depth: number): string {
  const isEnd = paths.some((path) => path.length === 0)
  const below = Map.groupBy(
    paths.filter((path) => path.length > 0),
    ([segment]) => segment as string,
  )
  const rest = (through: readonly (readonly string[])[]) => through.map((path) => path.slice(1))
  const members = [...below].filter(([segment]) => segment !== '*')
  const inMap = [
    ...(isEnd ? [isMarked(value)] : []),
    ...members.map(([name, through]) => {
      const { isThere, member } = celMember(value, name)
      return `${isThere} && (${isMarkedAt(member, rest(through), depth)})`
    }),
  ]
  const items = below.get('*')
  return [
    ...(inMap.length > 0 ? [`type(${value}) == map && (${inMap.join(' || ')})`] : []),
    ...(items ? [`${celItems(value)}.exists(v${depth}, ${isMarkedAt(`v${depth}`, rest(items), depth + 1)})`] : []),
  ].join(' || ')
}

/** Returns an expression: whether a map has an annotation or a label with our key. */
function isMarked(value: string): string {
  const has = ['annotations', 'labels'].map((name) => {
    const { isThere, member } = celMember(value, name)
    return `${isThere} && type(${member}) == map && ${member}.exists(k, k.contains('${IN_OUR_KEYS}'))`
  })
  return has.join(' || ')
}

/** The names that CEL accepts after a dot: no keywords (https://github.com/google/cel-spec/blob/master/doc/langdef.md#syntax). */
const SELECTOR = /^(?!(?:false|in|null|true)$)[A-Za-z_][A-Za-z0-9_]*$/

/**
 * Returns expressions for the presence of a member of a map, and for its value. They avoid the generic operators `in` and `[]`: the time of
 * the type checker in the API server is quadratic in their number. It took 5 s for all kinds, and takes 0.3 s with selectors.
 */
function celMember(value: string, name: string): { isThere: string; member: string } {
  if (SELECTOR.test(name)) return { isThere: `has(${value}.${name})`, member: `${value}.${name}` }
  return { isThere: `'${name}' in ${value}`, member: `${value}['${name}']` }
}

/** Returns an expression for the items of a list or the values of a map. CEL iterates over the keys of a map. */
function celItems(value: string): string {
  return `(type(${value}) == list || type(${value}) == map) && ${value}.map(k, type(${value}) == map ? ${value}[k] : k)`
}
