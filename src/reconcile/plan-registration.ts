/** Compares the cluster's webhook configurations with the wanted ones, and plans the writes for the differences. */
import { type ValidatingAdmissionPolicy, validatingAdmissionPolicies } from '../api/admission-policy.ts'
import { ENFORCE_LABEL } from '../api/lodestone.ts'
import type { LabelSelectorRequirement, ResourceType } from '../api/meta.ts'
import { REGISTRATION_LABELS, type Registrable } from '../api/registration.ts'
import { defined, jsonEqual } from '../base/json.ts'
import type { WriteAction } from '../core/plan.ts'

export interface RegisteredConfiguration<T extends Registrable> {
  type: ResourceType<T>
  wanted: T
  /** The configuration in the cluster; undefined if it does not exist. */
  current: T | undefined
}

/** Creates missing configurations and repairs those that differ. Fields of the API server or of other clients stay. */
export function planRegistration<T extends Registrable>(
  configurations: readonly RegisteredConfiguration<T>[],
): WriteAction[] {
  return configurations.flatMap(({ type, wanted, current }): WriteAction[] => {
    if (!current) return [{ kind: 'create', type, object: wanted }]
    if (isCurrent(current, wanted)) return []
    return [{ kind: 'update', type, object: merge(current, wanted) }]
  })
}

/** Repairs a policy of the API server that differs. A missing one is not created: the right to create cannot be limited to one name. */
export function planPolicy(wanted: ValidatingAdmissionPolicy, current: ValidatingAdmissionPolicy): WriteAction[] {
  const annotations = { ...current.metadata.annotations, ...wanted.metadata.annotations }
  if (covers(current.spec, wanted.spec) && covers(current.metadata.annotations, annotations)) return []
  const object = { ...current, metadata: { ...current.metadata, annotations }, spec: wanted.spec }
  return [{ kind: 'update', type: validatingAdmissionPolicies, object }]
}

/** Gives the configurations of another version the present CA: each version serves with the same certificates. */
export function planCa<T extends Registrable>(configurations: readonly RegisteredConfiguration<T>[]): WriteAction[] {
  return configurations.flatMap(({ type, wanted, current }): WriteAction[] => {
    const caBundle = registeredCaBundle(wanted)
    if (!current?.webhooks || caBundle === undefined || hasCa(current, caBundle)) return []
    const webhooks = current.webhooks.map((entry) => ({ ...entry, clientConfig: { ...entry.clientConfig, caBundle } }))
    return [{ kind: 'update', type, object: { ...current, webhooks } }]
  })
}

/** Whether the cluster has what is wanted. */
export function isCurrent(current: Registrable | undefined, wanted: Registrable): boolean {
  const { annotations = {} } = wanted.metadata
  const webhooks = current?.webhooks?.map((entry, i) => withoutOthers(entry, wanted.webhooks?.[i]))
  return covers(webhooks, wanted.webhooks) && covers(current?.metadata.annotations ?? {}, annotations)
}

/** Whether the API server can call the webhooks of a configuration, of whichever version it is. */
export function isServed(current: Registrable | undefined, wanted: Registrable): boolean {
  return (current?.webhooks ?? []).length > 0 && hasCa(current, registeredCaBundle(wanted))
}

function hasCa(current: Registrable | undefined, caBundle: string | undefined): boolean {
  const { webhooks = [] } = current ?? {}
  return caBundle === undefined || webhooks.every(({ clientConfig }) => clientConfig.caBundle === caBundle)
}

/** The CA bundle of the first webhook: all webhooks of a wanted configuration have the same one. */
export function registeredCaBundle({ webhooks = [] }: Registrable): string | undefined {
  return webhooks[0]?.clientConfig.caBundle
}

/**
 * Empties a configuration that was registered before and is no longer wanted. The object stays: the installation creates it, and RBAC
 * cannot limit the right to create to one name. An object with our name but without our labels is not changed.
 */
export function planWithdrawal<T extends Registrable>(type: ResourceType<T>, current: T | undefined): WriteAction[] {
  const isOurs = current !== undefined && covers(current.metadata.labels, REGISTRATION_LABELS)
  if (!isOurs || !current.webhooks?.length) return []
  return [{ kind: 'update', type, object: { ...current, webhooks: [] } }]
}

/** cert-manager's injector may own the caBundle: if we have no caBundle, the cluster's one stays. So do requirements of other writers. */
function merge<T extends Registrable>(current: T, wanted: T): T {
  const before = new Map(current.webhooks?.map((entry) => [entry.name, entry]))
  return {
    ...current,
    metadata: defined({
      ...current.metadata,
      annotations: wanted.metadata.annotations && { ...current.metadata.annotations, ...wanted.metadata.annotations },
    }),
    webhooks: (wanted.webhooks ?? []).map((entry) => {
      const same = before.get(entry.name)
      const caBundle = entry.clientConfig.caBundle ?? same?.clientConfig.caBundle
      const clientConfig = defined({ ...entry.clientConfig, caBundle })
      return { ...withOthers(entry, same), clientConfig }
    }),
  }
}

/**
 * Whether `current` has everything that `wanted` has. Additional members in `current`, such as defaults of a newer API server, are allowed.
 */
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

type Entry = NonNullable<Registrable['webhooks']>[number]
type Selecting = Pick<Entry, 'namespaceSelector'>

/**
 * Returns the registered entry without the requirements of other writers. A managed platform adds one to every webhook, to protect its
 * namespaces, and again after each write without it: AKS (github.com/Azure/AKS/issues/1771) and GKE Autopilot.
 */
export function withoutOthers<T extends Selecting>(registered: T, wanted: Selecting | undefined): T {
  const others = othersOf(registered, wanted)
  if (others.length === 0) return registered
  const matchExpressions = requirementsOf(registered).filter((one) => !others.includes(one))
  return { ...registered, namespaceSelector: { ...registered.namespaceSelector, matchExpressions } }
}

/** Returns the wanted entry with the requirements that other writers added to the registered one. */
function withOthers<T extends Entry>(wanted: T, registered: Entry | undefined): T {
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
function othersOf(registered: Selecting, wanted: Selecting | undefined): LabelSelectorRequirement[] {
  const rest = requirementsOf(registered)
  for (const own of requirementsOf(wanted)) {
    const equal = rest.findIndex((one) => jsonEqual(one, own))
    const same =
      equal >= 0 ? equal : rest.findIndex(({ key, operator }) => key === own.key && operator === own.operator)
    if (same >= 0) rest.splice(same, 1)
  }
  return rest.filter(({ key }) => key !== ENFORCE_LABEL)
}

function requirementsOf(entry: Selecting | undefined): LabelSelectorRequirement[] {
  return [...(entry?.namespaceSelector?.matchExpressions ?? [])]
}
