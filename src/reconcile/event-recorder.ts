/** Writes Events in the background: in order, one at a time, without delaying the loops. */
import { events } from '../api/event.ts'
import type { K8sObject } from '../api/meta.ts'
import type { EventAction } from '../core/plan.ts'
import type { ObjectStore } from '../store/store.ts'

export interface EventRecorderInput {
  /** Best one with a write limit of its own: a burst of Events must not delay the other writes. */
  store: Pick<ObjectStore, 'create'>
  /** Milliseconds since the epoch. */
  now: () => number
  observer: EventObserver
}

export interface EventObserver {
  /** The result of one Event. `dropped`: too many waited already. */
  recorded(result: 'written' | 'dropped' | 'failed', error?: unknown): void
}

export interface EventRecorder {
  /** Takes an Event to be written soon. Never throws and never waits: it counts lost Events, as client-go's recorder does. */
  record(event: EventAction): void
  /** Writes nothing more; resolves when the write in progress has ended. */
  stop(): Promise<void>
}

/** As in client-go's broadcaster. More Events than these are dropped. */
const MAX_PENDING = 1000

export function openEventRecorder({ store, now, observer }: EventRecorderInput): EventRecorder {
  let pending: K8sObject[] = []
  let writing: Promise<void> | undefined

  async function writeAll(): Promise<void> {
    for (let event = pending.shift(); event !== undefined; event = pending.shift()) {
      try {
        await store.create(events, event)
        observer.recorded('written')
      } catch (error) {
        observer.recorded('failed', error)
      }
    }
    writing = undefined
  }

  return {
    record(event) {
      if (pending.length >= MAX_PENDING) return observer.recorded('dropped')
      // Made now: it tells of this moment, whenever it is written.
      pending.push(eventOf(event, now()))
      writing ??= writeAll()
    },
    async stop() {
      pending = []
      await writing
    },
  }
}

/** Events about cluster-scoped objects are kept in `default`, as Kubernetes does. */
function eventOf({ about, type, reason, message }: EventAction, now: number): K8sObject {
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
