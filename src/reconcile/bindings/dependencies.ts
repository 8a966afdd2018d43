/**
 * The loop of workloads with dependencies: delays the deletion of a binding until the bindings attached to it are released. It also writes
 * `propagateDeps` into bindings, where Karmada does not write it in time.
 */
import { isBinding, isPolicy, type PropagationPolicy, policyTypeIn, type ResourceBinding } from '../../api/karmada.ts'
import { DEPENDENCIES_FINALIZER } from '../../api/lodestone.ts'
import { type K8sObject, keyOfObject, objectKey, referenceOf, splitObjectKey } from '../../api/meta.ts'
import { attachesAny, type Distribution, planDependenciesFinalizer, propagates } from '../../core/dependencies/needs.ts'
import { planPropagateDeps } from '../../core/dependencies/plan-propagate-deps.ts'
import { NOTHING, type Plan } from '../../core/plan.ts'
import { hasOurAnnotations } from '../../core/resource-binding/annotations.ts'
import { attachedTo, labeledClusterBindings } from '../../queries/attached.ts'
import { bindingPolicy } from '../../queries/binding.ts'
import { dependentsOf, isWithinReach, workloadOfBinding } from '../../queries/dependents.ts'
import { allBindings, bindingNamed, bindingsByIndex, bindingsOfWorkload } from '../../queries/workload.ts'
import type { ObjectStore } from '../../store/store.ts'
import { applyPlan } from '../apply.ts'
import type { ReconcileContext, ReconcileLoop } from '../define.ts'

export function openDependenciesLoop(distribution: Distribution | 'none'): ReconcileLoop {
  return {
    name: 'dependencies',
    concurrency: 16,
    awaitsWebhooks: true,
    *keysForChange({ type, before, after }, store) {
      if (isPolicy(type.kind)) {
        yield* keysOfPolicy(before as PropagationPolicy | undefined, after as PropagationPolicy | undefined, store)
        return
      }
      const keysOf = isBinding(type.kind) ? keysOfBinding : keysOfWorkload
      if (before) yield* keysOf(before, store)
      if (after) yield* keysOf(after, store)
    },
    *allKeys(store) {
      for (const binding of allBindings(store)) yield concernsUs(binding) ? keyOfObject(binding) : undefined
    },
    async reconcile(key, context) {
      const { store } = context
      const binding = bindingNamed(splitObjectKey(key), store)
      if (!binding || !concernsUs(binding)) return undefined
      const propagation = distribution === 'none' ? NOTHING : await propagationOf(binding, store)
      if (propagation.actions.length > 0) {
        // The changed binding triggers the next run.
        await applyPlan(context, propagation)
        return undefined
      }
      const plan = planDependenciesFinalizer({
        binding,
        attaches: attaches(binding, distribution, context),
        hasAttached: attachedTo(binding, store).length > 0,
      })
      await applyPlan(context, plan)
      return plan.requeueAfterMs
    },
  }
}

function* keysOfBinding(object: K8sObject, store: ObjectStore): Iterable<string> {
  const binding = object as ResourceBinding
  if (concernsUs(binding)) yield keyOfObject(binding)
  // The finalizer of a binding changes when another binding is attached to it or released.
  for (const { namespace, name } of binding.spec.requiredBy ?? []) yield objectKey(namespace, name)
  yield* labeledClusterBindings(binding, store).map(keyOfObject)
}

function keysOfWorkload(object: K8sObject, store: ObjectStore): Iterable<string> {
  return 'dependencies' in object ? bindingsOfWorkload(referenceOf(object), store).map(keyOfObject) : []
}

/** Whether Lodestone attaches dependencies to the binding; undefined if its workload is not cached. */
function attaches(
  binding: ResourceBinding,
  distribution: Distribution | 'none',
  context: ReconcileContext,
): boolean | undefined {
  if (distribution === 'none' || !propagates(binding)) return false
  const workload = workloadOfBinding(binding, context.store)
  if (!workload) return undefined
  const dependents = dependentsOf(workload, context.store, context).filter((object) => isWithinReach(binding, object))
  return attachesAny(binding, dependents, distribution)
}

/** Returns the bindings into which Karmada does not write a new `propagateDeps` of their policy in time. */
function keysOfPolicy(
  before: PropagationPolicy | undefined,
  after: PropagationPolicy | undefined,
  store: ObjectStore,
): string[] {
  if (!after || before?.spec.propagateDeps === after.spec.propagateDeps) return []
  return bindingsByIndex('awaitsPropagateDeps', keyOfObject(after), store).map(keyOfObject)
}

/** The cached policy may be older than the binding, and a release removes dependencies from members: the API server decides. */
async function propagationOf(binding: ResourceBinding, store: ObjectStore): Promise<Plan> {
  const policy = bindingPolicy(binding, store)
  if (!policy || planPropagateDeps(binding, policy).actions.length === 0) return NOTHING
  const { namespace, name = '' } = policy.metadata
  const current = await store.read(policyTypeIn(namespace), namespace, name)
  return planPropagateDeps(binding, current)
}

function concernsUs(binding: ResourceBinding): boolean {
  const { namespace, annotations, finalizers = [] } = binding.metadata
  const isOurs = finalizers.includes(DEPENDENCIES_FINALIZER) || hasOurAnnotations(annotations)
  return namespace === undefined || isOurs || propagates(binding)
}
