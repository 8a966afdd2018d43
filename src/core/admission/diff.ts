/** Computes the difference of two JSON values as a JSON Patch (RFC 6902). It skips values that both share. */
import type { Operation } from 'fast-json-patch'
import { isObject, jsonEqual, memberNames } from '../../base/json.ts'

/**
 * Returns the patch that changes `before` into `after`. Lists are replaced as a whole: each list that Lodestone changes is atomic in
 * Kubernetes, and operations on list indexes are error-prone.
 */
export function diffJson(before: unknown, after: unknown): Operation[] {
  const operations: Operation[] = []
  collect(before, after, '', operations)
  return operations
}

function collect(before: unknown, after: unknown, path: string, operations: Operation[]): void {
  if (before === after) return
  if (!isObject(before) || !isObject(after)) {
    if (!jsonEqual(before, after)) operations.push({ op: 'replace', path, value: after })
    return
  }
  const names = memberNames(before)
  let kept = 0
  for (const key of Object.keys(after)) {
    const value = after[key]
    if (value === undefined) continue
    // Most members are shared and cost one comparison. An inherited member is never a JSON value: if it is equal, both have it.
    if (value !== before[key]) {
      if (!Object.hasOwn(before, key)) {
        operations.push({ op: 'add', path: join(path, key), value })
        continue
      }
      collect(before[key], value, join(path, key), operations)
    }
    kept++
  }
  if (kept === names.length) return
  for (const key of names) {
    if (before[key] !== undefined && !isMember(after, key)) operations.push({ op: 'remove', path: join(path, key) })
  }
}

function isMember(object: Record<string, unknown>, key: string): boolean {
  return Object.hasOwn(object, key) && object[key] !== undefined
}

/** Appends a member name to a JSON Pointer (RFC 6901 §3). */
function join(path: string, key: string): string {
  const escaped = key.includes('~') ? key.replaceAll('~', '~0') : key
  return `${path}/${escaped.includes('/') ? escaped.replaceAll('/', '~1') : escaped}`
}
