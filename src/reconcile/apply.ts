/** The only writer: does what a plan says, one action after the other. */
import type { K8sObject, ResourceType } from '../api/meta.ts'
import type { Action, Plan } from '../core/plan.ts'
import type { ObjectStore } from '../store/store.ts'

/**
 * Applies a plan. Every write is guarded (a create fails when the object exists, the others when it changed since it was read), so that
 * a plan made from an older view changes nothing.
 *
 * @param now milliseconds since the epoch, for Events
 * @throws ConflictError, NotFoundError when the view was older: read again and plan again
 */
export async function applyPlan(store: ObjectStore, { actions }: Plan, now: number): Promise<void> {
  for (const action of actions) await apply(store, action, now)
}

async function apply(store: ObjectStore, action: Action, now: number): Promise<void> {
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
    case 'event':
      await store.create(events, eventOf(action, now))
      return
  }
}

const events: ResourceType = { group: '', version: 'v1', kind: 'Event', plural: 'events', namespaced: true }

/** Events about cluster-scoped objects are kept in `default`, as Kubernetes does. */
function eventOf({ about, type, reason, message }: Extract<Action, { kind: 'event' }>, now: number): K8sObject {
  const { namespace = 'default', name = '', uid, resourceVersion } = about.metadata
  const time = new Date(now).toISOString().replace(/\.\d+Z$/, 'Z')
  const event: K8sObject & Record<string, unknown> = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { generateName: `${name}.`.slice(0, 200), namespace },
    involvedObject: {
      apiVersion: about.apiVersion,
      kind: about.kind,
      name,
      ...(about.metadata.namespace && { namespace: about.metadata.namespace }),
      ...(uid && { uid }),
      ...(resourceVersion && { resourceVersion }),
    },
    type,
    reason,
    message: message.slice(0, 1024),
    source: { component: 'lodestone' },
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
  }
  return event
}
