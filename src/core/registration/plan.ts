/** Compares the cluster's webhook configurations with the wanted ones, and plans the writes where they differ. */
import type { ResourceType } from '../../api/meta.ts'
import { REGISTRATION_LABELS, type Registrable } from '../../api/registration.ts'
import type { WriteAction } from '../plan.ts'

export interface RegisteredConfiguration<T extends Registrable> {
  type: ResourceType<T>
  wanted: T
  /** As it is in the cluster; undefined when it is not there. */
  current: T | undefined
}

/** Creates missing configurations and repairs those that differ. Other fields stay, whether the API server or another client added them. */
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
 * Empties a configuration that was registered before and is not wanted any more. The object stays: the installation creates it, and the
 * right to create cannot be limited to one name. An object that has our name but not our labels is left alone.
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

/** Whether `current` has everything that `wanted` has; more in `current` (defaults of a newer API server) is fine. */
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
