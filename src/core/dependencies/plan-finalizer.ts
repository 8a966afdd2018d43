/** Decides whether the deletion of a workload's binding waits until Lodestone has released the attached bindings. */
import { bindingTypeIn, type ResourceBinding } from '../../api/karmada.ts'
import { DEPENDENCIES_FINALIZER } from '../../api/lodestone.ts'
import { NOTHING, type Plan, patchOf } from '../plan.ts'

export interface FinalizerInput {
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
