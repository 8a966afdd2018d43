/** The only writer: does what a plan says, one action after the other. */
import type { Plan } from '../core/plan.ts'
import type { ObjectStore } from '../store/store.ts'

/**
 * Applies a plan. Every write is guarded (a create fails when the object exists, an update when it changed since it was read), so
 * that a plan made from an older view changes nothing.
 *
 * @throws ConflictError, NotFoundError when the view was older: read again and plan again
 */
export async function applyPlan(store: ObjectStore, { actions }: Plan): Promise<void> {
  for (const { kind, type, object } of actions) {
    await (kind === 'create' ? store.create(type, object) : store.update(type, object))
  }
}
