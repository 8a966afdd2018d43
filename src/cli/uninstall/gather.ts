/** Reads the objects of an API server page by page, and plans what an uninstallation removes from each. */
import { bindingTypes, type ResourceBinding } from '../../api/karmada.ts'
import { type K8sObject, nameOfObject, type ResourceType } from '../../api/meta.ts'
import type { Config } from '../../app/config/config.ts'
import { configuredWorkloadKinds } from '../../app/config/workload-kinds-config.ts'
import { installedObjects } from '../../app/roles/uninstall-roles.ts'
import { type Clock, sleep } from '../../base/time/clock.ts'
import { removalRules } from '../../core/uninstall/index.ts'
import { type BindingUse, type Harm, policiesToKeep, useOfBinding } from '../../core/uninstall/kept-policies.ts'
import type { Removal, RemovalRule } from '../../core/uninstall/removal.ts'
import type { ApiConnection } from '../../store/cluster/api-connection.ts'
import { type ApiError, isForbidden } from '../../store/cluster/api-error.ts'
import { type Lease, leases } from '../../store/cluster/lease.ts'
import type { ObjectStore } from '../../store/store.ts'
import { collectObjects, titleOfListed } from '../all-objects/collect-objects.ts'
import { findAllLeases, servesElsewhere } from './find-leases.ts'

export interface UninstallContext {
  connection: ApiConnection
  store: ObjectStore
  config: Config
  signal: AbortSignal
  /** Milliseconds since the epoch. */
  now: () => number
  /** For waits and their ends. */
  clock: Clock
}

/** Waits. Throws the reason of the signal when it aborts. */
export async function pause({ clock, signal }: UninstallContext, delayMs: number): Promise<void> {
  await sleep(clock, delayMs, signal)
  signal.throwIfAborted()
}

/** An object with traces of Lodestone. Only its name and its removal stay in memory. */
export interface Candidate {
  rule: RemovalRule
  /** The kind in the version that the API server serves. */
  type: ResourceType
  namespace?: string
  name: string
  removal: Removal
}

export interface Gathered {
  /** The objects to change or to delete. */
  candidates: readonly Candidate[]
  /** The objects that are being deleted. */
  ending: readonly Candidate[]
  keeps: readonly Kept[]
  /** The kinds that may not be read, each with the reason and the remedy. */
  unreadable: readonly string[]
}

/** What stays of an object, and why. */
export interface Kept {
  /** `Kind namespace/name`. */
  title: string
  what: string
}

/** Returns `Kind namespace/name: what stays`. */
export function keptLine({ title, what }: Kept): string {
  return `${title}: ${what}`
}

/** The choices of the user. */
export interface Choices {
  restores: boolean
  deletesDefinitions: boolean
}

/** Plans the removal of all traces, in the order in which they are to be removed. */
export async function gatherTraces(context: UninstallContext, choices: Choices): Promise<Gathered> {
  const { config } = context
  const elsewhere = await findLeasesElsewhere(context)
  const rules = removalRules({
    ...choices,
    workloadKinds: configuredWorkloadKinds(config),
    now: context.now(),
    installed: installedObjects(config),
    leasesElsewhere: elsewhere.leases,
    keptPolicies: choices.restores ? new Map() : await findKeptPolicies(context),
  })
  const gathered = await gatherBy(rules, context)
  return { ...gathered, unreadable: [...elsewhere.unreadable, ...gathered.unreadable] }
}

/** Returns the Leases of replicas in this cluster that serve another API server. */
async function findLeasesElsewhere(context: UninstallContext): Promise<{ leases: Lease[]; unreadable: string[] }> {
  try {
    return { leases: (await findAllLeases(context)).filter(servesElsewhere), unreadable: [] }
  } catch (error) {
    if (!isForbidden(error)) throw error
    return { leases: [], unreadable: [unreadableLine(leases, error)] }
  }
}

function unreadableLine({ kind }: ResourceType, { message }: ApiError): string {
  return `${kind}: ${message}; grant the user this permission`
}

/** Plans what these rules remove. */
export async function gatherBy(rules: readonly RemovalRule[], context: UninstallContext): Promise<Gathered> {
  const found: Candidate[] = []
  const unreadable: string[] = []
  for (const rule of rules) {
    context.signal.throwIfAborted()
    try {
      // A call with 200,000 arguments would exceed the stack.
      for (const candidate of await findCandidates(rule, context)) found.push(candidate)
    } catch (error) {
      if (!isForbidden(error)) throw error
      unreadable.push(unreadableLine(rule.type, error))
    }
  }
  return {
    candidates: found.filter(({ removal }) => removal.write !== undefined),
    ending: found.filter(({ removal }) => removal.isEnding),
    keeps: found.flatMap((candidate) =>
      candidate.removal.keeps.map((what) => ({ title: titleOfListed(candidate), what })),
    ),
    unreadable,
  }
}

async function findKeptPolicies(context: UninstallContext): Promise<ReadonlyMap<string, Harm>> {
  const uses: BindingUse[] = []
  for (const type of bindingTypes) {
    try {
      const found = await collectObjects(type, context, (object) => {
        const use = useOfBinding(object as ResourceBinding)
        return use ? [use] : []
      })
      for (const use of found) uses.push(use)
    } catch (error) {
      // The rule of bindings reports it.
      if (!isForbidden(error)) throw error
    }
  }
  return policiesToKeep(uses)
}

async function findCandidates(rule: RemovalRule, context: UninstallContext): Promise<Candidate[]> {
  const { names, metadataOnly } = rule
  // An object that is planned with another one is kept until that is read.
  const found: (Candidate & { object?: K8sObject })[] = names
    ? (await readAll(rule.type, names, context)).flatMap((object) => planned(rule, rule.type, object))
    : await collectObjects(
        rule.type,
        context,
        (object, type) => planned(rule, type, object).map((one) => (rule.related?.(object) ? { ...one, object } : one)),
        metadataOnly,
      )
  for (const one of found) {
    const { object, ...candidate } = one
    if (object) one.removal = rule.plan(object, await readRelated(candidate.rule, object, context))
    delete one.object
  }
  return found
}

async function readAll(
  type: ResourceType,
  names: NonNullable<RemovalRule['names']>,
  { store }: UninstallContext,
): Promise<K8sObject[]> {
  const objects: K8sObject[] = []
  for (const { namespace, name } of names) {
    const object = await store.read(type, namespace, name)
    if (object) objects.push(object)
  }
  return objects
}

function planned(rule: RemovalRule, type: ResourceType, object: K8sObject): Candidate[] {
  const removal = rule.plan(object)
  return removal.write || removal.isEnding || removal.keeps.length > 0
    ? [{ rule, type, ...nameOfObject(object), removal }]
    : []
}

async function readRelated(
  rule: RemovalRule,
  object: K8sObject,
  { store }: UninstallContext,
): Promise<K8sObject | undefined> {
  const reference = rule.related?.(object)
  return reference && store.read(reference.type, reference.namespace, reference.name)
}

/** Reads an object again, and plans its removal; undefined if it was deleted. */
export async function planAgain(candidate: Candidate, context: UninstallContext): Promise<Removal | undefined> {
  const { rule, type, namespace, name } = candidate
  const object = await context.store.read(type, namespace, name)
  return object && rule.plan(object, await readRelated(rule, object, context))
}
