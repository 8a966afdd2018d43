/** The loop of attached bindings: updates each one after a change of its dependency or of a workload that needs it. */
import { dataSourceClaims } from '../../api/data-source-claim.ts'
import { ingresses, serviceAccounts, services } from '../../api/dependencies.ts'
import { DEPENDENCIES_ANNOTATION, isBinding, type ResourceBinding } from '../../api/karmada.ts'
import { DEPENDED_BY_LABEL_PREFIX } from '../../api/lodestone.ts'
import { type K8sObject, referenceOf } from '../../api/meta.ts'
import { volumeManagers } from '../../api/volume-manager.ts'
import { defined, jsonEqual } from '../../base/json.ts'
import { isContentUnchanged } from '../../core/dependencies/dependent.ts'
import { dependencyKey, objectOfKey } from '../../core/dependencies/keys.ts'
import { type Distribution, divideNeeds, propagates } from '../../core/dependencies/needs.ts'
import { type AttachedInput, planAttachedBinding } from '../../core/dependencies/plan-attached.ts'
import type { Workload } from '../../core/dependencies/workload.ts'
import { attachedTo, labeledClusterBindings } from '../../queries/attached.ts'
import {
  bindingsNeeding,
  type DependencyRules,
  dependentsOf,
  dependentType,
  workloadOfBinding,
  workloadsAround,
} from '../../queries/dependents.ts'
import { allBindings, bindingNamed, bindingsOfWorkload, objectBinding, otherBinding } from '../../queries/workload.ts'
import type { ObjectStore, StoreChange } from '../../store/store.ts'
import { applyPlan } from '../apply.ts'
import type { ReconcileContext, ReconcileLoop } from '../define.ts'
import { Spacing } from '../spacing.ts'
import { Waits } from '../waits.ts'

/** Kinds that add dependencies to a workload: a change of such an object changes the dependencies of the workload. */
const CARRIERS: readonly string[] = [services, serviceAccounts, volumeManagers, ingresses].map(({ kind }) => kind)

/**
 * Claims without permission and objects that are never propagated are included: an unnecessary key costs only one run, and what Karmada
 * attached is released.
 */
const ALL_DEPENDENTS: DependencyRules = { clusterScopedClaims: 'allowed', kinds: { isNeverPropagated: () => false } }

/** With `none`, the loop releases everything that was attached before, and reads only bindings. */
export function openAttachedBindingLoop(distribution: Distribution | 'none'): ReconcileLoop {
  const attaches = distribution !== 'none'
  /** For Karmada's distributor. */
  const waits = new Waits()
  const spacing = new Spacing()
  return {
    name: 'attached-binding',
    concurrency: 16,
    awaitsWebhooks: true,
    keysForChange: (change, store) => distinct(attaches ? changedKeys(change, store) : annotatedKeys(change)),
    *allKeys(store) {
      for (const binding of allBindings(store)) {
        yield* ownKeys(binding)
        if (attaches && propagates(binding)) yield* keysOfBinding(binding, store)
        else yield undefined
      }
    },
    async reconcile(key, context) {
      const { store } = context
      const now = context.now()
      const restMs = spacing.waitMs(key, now)
      if (restMs > 0) return restMs
      const named = objectOfKey(key)
      const reference = referenceOf(named)
      const stored = objectBinding(reference, store)
      // Another object has the name of the binding: Karmada and its garbage collector do not let two share one.
      const isNameTaken = otherBinding(reference, store) !== undefined
      const needed = attaches && !isNameTaken ? gather(named, distribution, context) : NOTHING_NEEDED
      spacing.ran(key, needed.needs.length, now)
      const plan = planAttachedBinding({
        ...needed,
        stored,
        labeledFor: stored ? labeledClusterBindings(stored, store) : [],
        bindingOf: (snapshot) => bindingNamed(snapshot, store),
        waitedMs: waits.waitedMs(key, { now, jumps: context.jumps() }),
      })
      // Before the write: if it fails, the wait goes on.
      if (plan.requeueAfterMs === undefined) waits.end(key)
      await applyPlan(context, plan)
      return plan.requeueAfterMs
    },
  }
}

type Needs = Pick<AttachedInput, 'dependent' | 'needs' | 'isUnknown' | 'isNeverPropagated'>

const NOTHING_NEEDED: Needs = {
  dependent: undefined,
  needs: [],
  isUnknown: () => false,
  isNeverPropagated: false,
}

/** Returns the current object and the bindings that need it. */
function gather(named: K8sObject, distribution: Distribution, context: ReconcileContext): Needs {
  const { store } = context
  const type = dependentType(named, store)
  const dependent = type && store.get(type, named.metadata.namespace, named.metadata.name ?? '')
  const object = dependent ?? named
  return {
    dependent,
    needs: type ? divideNeeds(object, bindingsNeeding(object, store, context), distribution) : [],
    isNeverPropagated: context.kinds.isNeverPropagated(referenceOf(named)),
    isUnknown: (binding) => propagates(binding) && workloadOfBinding(binding, store) === undefined,
  }
}

/** Yields each key once, and undefined for one that was yielded before. All workloads of a namespace can have the same dependencies. */
function* distinct(keys: Iterable<string>): Iterable<string | undefined> {
  const seen = new Set<string>()
  for (const key of keys) {
    yield seen.has(key) ? undefined : key
    seen.add(key)
  }
}

function* annotatedKeys({ type, before, after }: StoreChange): Iterable<string> {
  if (!isBinding(type.kind)) return
  for (const binding of [before, after] as (ResourceBinding | undefined)[]) if (binding) yield* ownKeys(binding)
}

function* changedKeys({ type, before, after }: StoreChange, store: ObjectStore): Iterable<string> {
  if (isBinding(type.kind)) {
    const [old, now] = [before, after] as (ResourceBinding | undefined)[]
    for (const binding of [old, now]) if (binding) yield* ownKeys(binding)
    const binding = now ?? old
    if (binding && isReferrerChanged(old, now)) yield* keysOfBinding(binding, store)
    return
  }
  if (isContentUnchanged(before, after)) return
  for (const object of [before, after]) if (object) yield* keysAround(object, store)
}

/** Returns the keys that an object other than a binding concerns: its own, and those of the workloads that it is or belongs to. */
function* keysAround(object: K8sObject, store: ObjectStore): Iterable<string> {
  if (dependentType(object, store)) yield dependencyKey(object)
  if ('dependencies' in object) yield* keysOfWorkload(object as Workload, store)
  if (CARRIERS.includes(object.kind) || object.kind === dataSourceClaims.kind) {
    for (const workload of workloadsAround(object, store)) yield* keysOfWorkload(workload, store)
  }
}

/** Returns the key of a binding's object, if the binding is attached or has no policy. */
function* ownKeys({ metadata, spec }: ResourceBinding): Iterable<string> {
  const isLabeled = Object.keys(metadata.labels ?? {}).some((label) => label.startsWith(DEPENDED_BY_LABEL_PREFIX))
  if (isLabeled || !spec.placement) yield dependencyKey(resourceObject(spec.resource))
}

/** Returns the keys of the objects that the workload needs, and of those that are attached to it. */
function* keysOfWorkload(workload: Workload, store: ObjectStore): Iterable<string> {
  for (const binding of bindingsOfWorkload(referenceOf(workload), store)) yield* keysOfBinding(binding, store)
}

function* keysOfBinding(binding: ResourceBinding, store: ObjectStore): Iterable<string> {
  for (const { spec } of attachedTo(binding, store)) yield dependencyKey(resourceObject(spec.resource))
  const workload = propagates(binding) ? workloadOfBinding(binding, store) : undefined
  if (workload) for (const dependent of dependentsOf(workload, store, ALL_DEPENDENTS)) yield dependencyKey(dependent)
}

/** Whether a change of a binding concerns its attached bindings. Changes of its status are frequent and do not. */
function isReferrerChanged(before?: ResourceBinding, after?: ResourceBinding): boolean {
  if (!before || !after) return true
  if (!before.spec.propagateDeps && !after.spec.propagateDeps) return false
  const seen = ({ metadata, spec }: ResourceBinding) => [
    spec.propagateDeps,
    spec.clusters,
    spec.gracefulEvictionTasks,
    spec.conflictResolution,
    spec.preserveResourcesOnDeletion,
    metadata.deletionTimestamp,
    metadata.labels,
    metadata.annotations?.[DEPENDENCIES_ANNOTATION],
  ]
  return !jsonEqual(seen(before), seen(after))
}

function resourceObject({ apiVersion, kind, namespace, name }: ResourceBinding['spec']['resource']): K8sObject {
  return { apiVersion, kind, metadata: defined({ namespace: namespace || undefined, name }) }
}
