/** Applies the actions of a plan, one after the other. All writes of the loops except Events are in this file. */
import type { Plan, Write } from '../core/plan.ts'
import type { ObjectStore } from '../store/store.ts'
import type { EventRecorder } from './event-recorder.ts'

/** The destinations of a plan's actions. */
export interface Writers {
  store: ObjectStore
  events: Pick<EventRecorder, 'record'>
}

/**
 * Applies a plan. Every write is guarded: a create fails if the object exists, and any other write fails if the object changed since it was
 * read. So a plan from an older state changes nothing.
 * @throws ConflictError, NotFoundError if another client changed or deleted an object: read again and plan again.
 * @throws MissingPrerequisiteError if the namespace or kind of an object does not exist
 */
export async function applyPlan({ store, events }: Writers, { actions }: Plan): Promise<void> {
  for (const action of actions) {
    if (action.kind === 'event') events.record(action)
    else await applyWrite(store, action)
  }
}

/** Applies one write, guarded like those of a plan. */
export async function applyWrite(store: ObjectStore, action: Write): Promise<void> {
  switch (action.kind) {
    case 'create':
      await store.create(action.type, action.object)
      return
    case 'update':
      await store.update(action.type, action.object)
      return
    case 'patch': {
      const { type, ...reference } = action.of
      await store.patch(type, reference, action.patch, action.subresource ? { subresource: action.subresource } : {})
      return
    }
    case 'delete':
      await store.delete(action.type, action.object)
      return
  }
}
