/** Applies the actions of a plan, one after the other. All writes of the loops except Events are in this file. */
import type { K8sObject } from '../api/meta.ts'
import { defined } from '../base/json.ts'
import type { Plan, Write } from '../core/plan.ts'
import type { ObjectStore } from '../store/store.ts'
import type { EventRecorder } from './event-recorder.ts'

/** The destinations of a plan's actions. */
export interface Writers {
  store: ObjectStore
  events: Pick<EventRecorder, 'record'>
}

/**
 * Applies a plan, and returns the written objects as the server has them. Every write is guarded: a create fails if the object exists, and
 * any other write fails if the object changed since it was read. So a plan from an older state changes nothing.
 * @throws ConflictError, NotFoundError if another client changed or deleted an object: read again and plan again.
 * @throws MissingPrerequisiteError if the namespace or kind of an object does not exist
 */
export async function applyPlan({ store, events }: Writers, { actions }: Plan): Promise<K8sObject[]> {
  const written: K8sObject[] = []
  for (const action of actions) {
    if (action.kind === 'event') events.record(action)
    else {
      const object = await applyWrite(store, action)
      if (object) written.push(object)
    }
  }
  return written
}

/** Applies one write, guarded like those of a plan. Returns the object of the server; undefined after a deletion. */
export async function applyWrite(store: ObjectStore, action: Write): Promise<K8sObject | undefined> {
  switch (action.kind) {
    case 'create':
      return store.create(action.type, action.object, action.isDryRun && { isDryRun: true })
    case 'update':
      return store.update(action.type, action.object)
    case 'patch': {
      const { type, ...reference } = action.of
      const { subresource, fieldManager } = action
      return store.patch(type, reference, action.patch, defined({ subresource, fieldManager }))
    }
    case 'delete':
      await store.delete(action.type, action.object)
      return undefined
  }
}
