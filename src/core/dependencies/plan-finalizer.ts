/** Decides whether the deletion of a workload's binding waits until our attachments for it are released. */
import { clusterResourceBindings, type ResourceBinding, resourceBindings } from '../../api/karmada.ts'
import { DEPENDENCIES_FINALIZER } from '../../api/lodestone.ts'
import { nameOfObject } from '../../api/meta.ts'
import { NOTHING, type Plan } from '../plan.ts'

export interface FinalizerInput {
  binding: ResourceBinding
  /** Whether there is something for us to attach; undefined when that cannot be told now. */
  attaches: boolean | undefined
  /** Whether a binding still carries our label for it. */
  hasAttached: boolean
}

/** Sets our finalizer as long as we attach, and takes it back when nothing is attached any more. */
export function planDependenciesFinalizer({ binding, attaches, hasAttached }: FinalizerInput): Plan {
  const { finalizers = [], deletionTimestamp } = binding.metadata
  const isSet = finalizers.includes(DEPENDENCIES_FINALIZER)
  const isWanted = hasAttached || (deletionTimestamp === undefined && (attaches ?? isSet))
  // An API server takes no new finalizer on what is on its way out.
  if (isSet === isWanted || (isWanted && deletionTimestamp !== undefined)) return NOTHING
  const others = finalizers.filter((finalizer) => finalizer !== DEPENDENCIES_FINALIZER)
  return {
    actions: [
      {
        kind: 'patch',
        of: { type: binding.metadata.namespace ? resourceBindings : clusterResourceBindings, ...nameOfObject(binding) },
        patch: {
          metadata: {
            resourceVersion: binding.metadata.resourceVersion,
            finalizers: isWanted ? [...others, DEPENDENCIES_FINALIZER] : others,
          },
        },
      },
    ],
  }
}
