/** Whether the cluster's webhook configurations are what they should be, and what to write when they are not. */
import type { ResourceType } from '../../api/meta.ts'
import { REGISTRATION_LABELS, type Registrable } from '../../api/registration.ts'
import type { WriteAction } from '../plan.ts'

export interface RegisteredConfiguration<T extends Registrable> {
  type: ResourceType<T>
  wanted: T
  /** As it is in the cluster; undefined when it is not there. */
  current: T | undefined
}

/** Creates what is missing and mends what differs. What the API server or others added elsewhere in the object stays. */
export function planRegistration<T extends Registrable>(
  configurations: readonly RegisteredConfiguration<T>[],
): { actions: WriteAction[] } {
  return {
    actions: configurations.flatMap(({ type, wanted, current }): WriteAction[] => {
      if (!current) return [{ kind: 'create', type, object: wanted }]
      if (covers(current.webhooks, wanted.webhooks)) return []
      return [{ kind: 'update', type, object: merge(current, wanted) }]
    }),
  }
}

/**
 * Empties what was registered before and is not wanted any more. The object stays: the installation creates it, and the right to create
 * cannot be limited to one name. What has our name but is not labelled as ours is left alone.
 */
export function planWithdrawal<T extends Registrable>(type: ResourceType<T>, current: T | undefined): WriteAction[] {
  const isOurs = current !== undefined && covers(current.metadata.labels, REGISTRATION_LABELS)
  if (!isOurs || !current.webhooks?.length) return []
  return [{ kind: 'update', type, object: { ...current, webhooks: [] } }]
}

/** cert-manager's injector may own the caBundle: where we have none to give, the cluster's stays. */
function merge<T extends Registrable>(current: T, wanted: T): T {
  const bundles = new Map(current.webhooks?.map(({ name, clientConfig }) => [name, clientConfig.caBundle]))
  return {
    ...current,
    webhooks: (wanted.webhooks ?? []).map((entry) => {
      const caBundle = entry.clientConfig.caBundle ?? bundles.get(entry.name)
      return { ...entry, clientConfig: { ...entry.clientConfig, ...(caBundle && { caBundle }) } }
    }),
  }
}

/** Whether everything in `wanted` stands in `current`; more in `current` (defaults of a newer API server) is fine. */
function covers(current: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) {
    return (
      Array.isArray(current) && current.length === wanted.length && wanted.every((item, i) => covers(current[i], item))
    )
  }
  if (typeof wanted !== 'object' || wanted === null) return current === wanted
  if (typeof current !== 'object' || current === null) return false
  return Object.entries(wanted).every(([key, value]) => covers((current as Record<string, unknown>)[key], value))
}
