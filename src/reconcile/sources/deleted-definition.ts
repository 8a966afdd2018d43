/** Reconciles an object of a kind that is not available, so that the deletion of its CRD can end. */
import type { ResourceType } from '../../api/meta.ts'
import { planDeletedDefinition } from '../../core/deleted-definition.ts'
import type { Plan } from '../../core/plan.ts'
import type { ObjectName } from '../../store/store.ts'
import { applyPlan, type Writers } from '../apply.ts'

/**
 * Gathers, plans and applies, if the kind is not available. The cache has the object as it was before the deletion of the CRD, so it is read
 * from the API server.
 *
 * @returns the applied plan: the loop has nothing else to do; undefined if the kind is available
 */
export async function reconcileUnavailable(
  type: ResourceType,
  reference: ObjectName,
  finalizer: string,
  writers: Writers,
): Promise<Plan | undefined> {
  const { store } = writers
  const unavailable = store.unavailable().find((other) => other.type === type)
  if (!unavailable) return undefined
  const isDeleted = unavailable.reason === 'Terminating'
  const object = isDeleted ? await store.read(type, reference.namespace, reference.name) : undefined
  const plan = planDeletedDefinition(type, object, finalizer)
  await applyPlan(writers, plan)
  return plan
}
