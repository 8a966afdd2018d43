/** Says where the object is that a user is likely to mean, if none has the given name in the given namespace. */
import { suggest } from '../base/suggest.ts'
import type { ObjectName } from '../store/store.ts'

/** Objects of a kind in one namespace that are compared. A folder or a hub may have more. */
const MAX_NAMES = 10_000

/**
 * Returns the namespace that has an object of this name, or a similar name; empty without both.
 *
 * @param known the objects of the kind, in all namespaces
 */
export function nameHint({ namespace, name }: ObjectName, known: readonly ObjectName[]): string {
  const elsewhere = known.find((each) => each.name === name && each.namespace && each.namespace !== namespace)
  if (elsewhere) return `; it is in namespace ${elsewhere.namespace}: add -n ${elsewhere.namespace}`
  const here = known.filter((each) => each.namespace === undefined || each.namespace === namespace)
  return suggest(
    name,
    here.slice(0, MAX_NAMES).map((each) => each.name),
  )
}
