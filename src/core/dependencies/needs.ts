/** Decides which bindings that need a dependency get it from us, and which get it from Karmada's distributor. */
import type { DependentObjectReference } from '../../api/dependencies.ts'
import { DEPENDENCIES_ANNOTATION, MANAGED_BY_LABEL, type ResourceBinding } from '../../api/karmada.ts'
import type { K8sObject } from '../../api/meta.ts'
import { isObject } from '../json.ts'
import { matchesLabels } from '../selectors.ts'
import { dependencyKey } from './keys.ts'
import type { Need } from './plan-attached.ts'

/** `karmada`: its distributor attaches what it knows of, and we the rest; `builtin`: we attach everything. */
export type Distribution = 'karmada' | 'builtin'

/**
 * Whether dependencies follow the binding at all. One that another controller than the detector made (MultiClusterService) is
 * that controller's business.
 */
export function propagates({ metadata, spec }: ResourceBinding): boolean {
  return (
    spec.propagateDeps === true &&
    metadata.deletionTimestamp === undefined &&
    metadata.labels?.[MANAGED_BY_LABEL] === undefined
  )
}

/** Whether the reference means the object: by name, or by labels where it has no name. */
export function refersTo(reference: DependentObjectReference, { apiVersion, kind, metadata }: K8sObject): boolean {
  if (reference.kind !== kind || reference.apiVersion !== apiVersion) return false
  if ((reference.namespace ?? '') !== (metadata.namespace ?? '')) return false
  return reference.name
    ? reference.name === metadata.name
    : reference.labelSelector !== undefined && matchesLabels(reference.labelSelector, metadata.labels)
}

/**
 * Divides the bindings that need `dependent`. In `karmada` mode the distributor attaches what it has recorded on a binding. We attach what
 * it has not recorded yet, such as a Service that came after the workload. We also attach everything for cluster-scoped workloads, which
 * it does not handle (karmada-io/karmada#5096).
 */
export function divideNeeds(
  dependent: K8sObject,
  bindings: readonly ResourceBinding[],
  distribution: Distribution,
): Need[] {
  return bindings.map((binding) => ({ binding, ours: isOurs(binding, dependent, distribution) }))
}

/** Whether there is anything for us to attach to a binding whose workload has these dependencies. */
export function attachesAny(
  binding: ResourceBinding,
  dependents: Iterable<K8sObject>,
  distribution: Distribution,
): boolean {
  if ((binding.spec.clusters ?? []).length === 0) return false
  for (const dependent of dependents) if (isOurs(binding, dependent, distribution)) return true
  return false
}

function isOurs(binding: ResourceBinding, dependent: K8sObject, distribution: Distribution): boolean {
  return distribution === 'builtin' || !binding.metadata.namespace || isMissingFromRecord(binding, dependent)
}

/** Nothing recorded at all means that the distributor was not there yet: it may still be told everything. */
function isMissingFromRecord(binding: ResourceBinding, dependent: K8sObject): boolean {
  const record = recordOf(binding)
  if (record === undefined || record.names.has(dependencyKey(dependent))) return false
  return !record.selectors.some((reference) => refersTo(reference, dependent))
}

/** The dependencies that Karmada's distributor has recorded on a binding, for many look-ups. */
interface DependencyRecord {
  names: ReadonlySet<string>
  selectors: readonly DependentObjectReference[]
}

/** A cached binding never changes, and each of its dependencies looks up its record. */
const records = new WeakMap<ResourceBinding, DependencyRecord | 'none'>()

function recordOf(binding: ResourceBinding): DependencyRecord | undefined {
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
  if (annotation === undefined) return undefined
  try {
    const recorded: unknown = JSON.parse(annotation)
    // Go writes an empty list as null.
    if (recorded === null) return []
    return Array.isArray(recorded) ? (recorded.filter(isObject) as unknown as DependentObjectReference[]) : undefined
  } catch {
    return undefined
  }
}
