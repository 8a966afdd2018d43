/**
 * Keeps what other writers add to the namespace selector of a webhook. A managed platform adds a requirement to every webhook, to protect its
 * namespaces, and again after each write without it: AKS (github.com/Azure/AKS/issues/1771) and GKE Autopilot.
 */
import { ENFORCE_LABEL } from '../api/lodestone.ts'
import type { LabelSelectorRequirement } from '../api/meta.ts'
import type { Registrable } from '../api/registration.ts'
import { defined, jsonEqual } from '../base/json.ts'

type Entry = NonNullable<Registrable['webhooks']>[number]

/** Returns the registered entry without the requirements of other writers. */
export function withoutOthers<T extends Entry>(registered: T, wanted: Entry | undefined): T {
  const others = othersOf(registered, wanted)
  if (others.length === 0) return registered
  const matchExpressions = requirementsOf(registered).filter((one) => !others.includes(one))
  return { ...registered, namespaceSelector: { ...registered.namespaceSelector, matchExpressions } }
}

/** Returns the wanted entry with the requirements that other writers added to the registered one. */
export function withOthers<T extends Entry>(wanted: T, registered: Entry | undefined): T {
  const others = registered ? othersOf(registered, wanted) : []
  const { matchLabels } = registered?.namespaceSelector ?? {}
  if (others.length === 0 && !matchLabels) return wanted
  const matchExpressions = [...requirementsOf(wanted), ...others]
  return {
    ...wanted,
    namespaceSelector: { ...defined({ matchLabels }), ...wanted.namespaceSelector, matchExpressions },
  }
}

/**
 * Returns the requirements of other writers. One of Lodestone is equal to a wanted one. If it was changed, it is the first one with its label: GKE
 * adds a second one for the names of namespaces.
 */
function othersOf(registered: Entry, wanted: Entry | undefined): LabelSelectorRequirement[] {
  const rest = requirementsOf(registered)
  for (const own of requirementsOf(wanted)) {
    const equal = rest.findIndex((one) => jsonEqual(one, own))
    const same =
      equal >= 0 ? equal : rest.findIndex(({ key, operator }) => key === own.key && operator === own.operator)
    if (same >= 0) rest.splice(same, 1)
  }
  return rest.filter(({ key }) => key !== ENFORCE_LABEL)
}

function requirementsOf(entry: Entry | undefined): LabelSelectorRequirement[] {
  return [...(entry?.namespaceSelector?.matchExpressions ?? [])]
}
