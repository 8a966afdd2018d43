/** Decides which referrers of a dependency Lodestone attaches, which ones Karmada's distributor attaches, and which deletions wait for that. */
import type { DependentObjectReference } from '../../api/dependencies.ts'
import { bindingTypeIn, DEPENDENCIES_ANNOTATION, MANAGED_BY_LABEL, type ResourceBinding } from '../../api/karmada.ts'
import { DEPENDENCIES_FINALIZER } from '../../api/lodestone.ts'
import type { K8sObject } from '../../api/meta.ts'
import { isObject, parseJson } from '../../base/json.ts'
import { matchesLabels } from '../../base/selectors.ts'
import { hasTarget } from '../placement/binding-state.ts'
import { NOTHING, type Plan, patchOf } from '../plan.ts'
import { dependencyKey } from './keys.ts'
import type { Need } from './plan-attached.ts'

/** `karmada`: its distributor attaches the dependencies that it recorded, and Lodestone the others. `builtin`: Lodestone attaches all. */
export type Distribution = 'karmada' | 'builtin'

/**
 * Whether the dependencies of a binding are propagated. If another controller created the binding (MultiClusterService), Lodestone ignores
 * it.
 */
export function propagates({ metadata, spec }: ResourceBinding): boolean {
  return (
    spec.propagateDeps === true &&
    metadata.deletionTimestamp === undefined &&
    metadata.labels?.[MANAGED_BY_LABEL] === undefined
  )
}

/** Whether the reference matches the object: by name, or by labels if it has no name. */
export function refersTo(reference: DependentObjectReference, { apiVersion, kind, metadata }: K8sObject): boolean {
  if (reference.kind !== kind || reference.apiVersion !== apiVersion) return false
  if ((reference.namespace ?? '') !== (metadata.namespace ?? '')) return false
  return reference.name
    ? reference.name === metadata.name
    : reference.labelSelector !== undefined && matchesLabels(reference.labelSelector, metadata.labels)
}

/**
 * Divides the bindings that need `dependent`. In `karmada` mode, the distributor attaches the dependencies that it recorded on a binding.
 * Lodestone attaches those that are not recorded yet, such as a Service that was created after the workload. It also attaches all
 * dependencies of cluster-scoped workloads, which the distributor does not support (karmada-io/karmada#5096).
 */
export function divideNeeds(
  dependent: K8sObject,
  bindings: readonly ResourceBinding[],
  distribution: Distribution,
): Need[] {
  return bindings.map((binding) => ({
    binding,
    ours: isOurs(binding, dependent, distribution),
    karmadaFollows: distribution === 'karmada' && binding.metadata.namespace !== undefined,
  }))
}

/** Whether Lodestone has to attach any of these dependencies of a binding's workload. */
export function attachesAny(
  binding: ResourceBinding,
  dependents: Iterable<K8sObject>,
  distribution: Distribution,
): boolean {
  if (!hasTarget(binding.spec)) return false
  for (const dependent of dependents) if (isOurs(binding, dependent, distribution)) return true
  return false
}

function isOurs(binding: ResourceBinding, dependent: K8sObject, distribution: Distribution): boolean {
  return distribution === 'builtin' || !binding.metadata.namespace || isMissingFromRecord(binding, dependent)
}

/** Without a record, the distributor has not processed the binding yet: it may still attach all dependencies. */
function isMissingFromRecord(binding: ResourceBinding, dependent: K8sObject): boolean {
  const record = dependencyRecord(binding)
  if (record === undefined || record.names.has(dependencyKey(dependent))) return false
  return !record.selectors.some((reference) => refersTo(reference, dependent))
}

/** The dependencies that Karmada's distributor recorded on a binding, prepared for many look-ups. */
interface DependencyRecord {
  names: ReadonlySet<string>
  selectors: readonly DependentObjectReference[]
}

/** A cached binding never changes, and each of its dependencies looks up its record. */
const records = new WeakMap<ResourceBinding, DependencyRecord | 'none'>()

function dependencyRecord(binding: ResourceBinding): DependencyRecord | undefined {
  let record = records.get(binding)
  if (record === undefined) {
    const recorded = recordedDependencies(binding.metadata.annotations?.[DEPENDENCIES_ANNOTATION])
    record = recorded
      ? {
          names: new Set(recorded.filter(({ name }) => name).map(dependencyKey)),
          selectors: recorded.filter(({ name }) => !name),
        }
      : 'none'
    records.set(binding, record)
  }
  return record === 'none' ? undefined : record
}

function recordedDependencies(annotation: string | undefined): DependentObjectReference[] | undefined {
  const recorded = parseJson(annotation)
  // Go writes an empty list as null.
  if (recorded === null) return []
  return Array.isArray(recorded) ? (recorded.filter(isObject) as unknown as DependentObjectReference[]) : undefined
}

interface FinalizerInput {
  binding: ResourceBinding
  /** Whether Lodestone has dependencies to attach; undefined if that is not known now. */
  attaches: boolean | undefined
  /** Whether an attached binding still has our label for this binding. */
  hasAttached: boolean
}

/** Sets our finalizer while Lodestone attaches dependencies, and removes it when none is attached any more. */
export function planDependenciesFinalizer({ binding, attaches, hasAttached }: FinalizerInput): Plan {
  const { finalizers = [], deletionTimestamp } = binding.metadata
  const isSet = finalizers.includes(DEPENDENCIES_FINALIZER)
  const isWanted = hasAttached || (deletionTimestamp === undefined && (attaches ?? isSet))
  // An API server rejects a new finalizer on an object that is being deleted.
  if (isSet === isWanted || (isWanted && deletionTimestamp !== undefined)) return NOTHING
  const others = finalizers.filter((finalizer) => finalizer !== DEPENDENCIES_FINALIZER)
  const wanted = isWanted ? [...others, DEPENDENCIES_FINALIZER] : others
  return {
    actions: [patchOf(bindingTypeIn(binding.metadata.namespace), binding, { metadata: { finalizers: wanted } })],
  }
}
