/** Compares registered webhooks with those that this version registers. */
import { isDeepStrictEqual } from 'node:util'
import type { WebhookEntry } from '../../api/registration.ts'

type Registered = Partial<WebhookEntry> & Pick<WebhookEntry, 'name'>

/** Names each resource of a wanted rule that the registered webhook of the same name does not receive. */
export function missingRules(wanted: readonly WebhookEntry[], registered: readonly Registered[]): string[] {
  return wanted.flatMap(({ name, rules }) => {
    const known = new Set(callsOf(registered.find((webhook) => webhook.name === name)?.rules ?? []))
    const missing = callsOf(rules).filter((call) => !known.has(call))
    return missing.length === 0 ? [] : [`${name} does not receive ${missing.join(', ')}`]
  })
}

/** Names each registered webhook whose failure policy or namespaces are not those of this version and configuration. */
export function changedFields(wanted: readonly WebhookEntry[], registered: readonly Registered[]): string[] {
  return wanted.flatMap((webhook) => {
    const found = registered.find(({ name }) => name === webhook.name)
    if (found === undefined) return []
    const policy = found.failurePolicy
    return [
      ...(policy === webhook.failurePolicy ? [] : [`failurePolicy of ${webhook.name} is ${policy}`]),
      ...(isDeepStrictEqual(found.namespaceSelector ?? {}, webhook.namespaceSelector ?? {})
        ? []
        : [`namespaceSelector of ${webhook.name} differs`]),
    ]
  })
}

function callsOf(rules: WebhookEntry['rules']): string[] {
  return rules.flatMap(({ apiGroups, resources, operations }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        operations.map((operation) => `${operation} of ${group === '' ? resource : `${resource}.${group}`}`),
      ),
    ),
  )
}
