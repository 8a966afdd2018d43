/** Writes Events in the background: in order, one at a time, without delaying the loops. */

import { events } from '../api/event.ts'
import { DECISION_ID_LABEL } from '../api/lodestone.ts'
import type { K8sObject } from '../api/meta.ts'
import { firstCharacters } from '../base/first-characters.ts'
import { defined } from '../base/json.ts'
import type { EventAction } from '../core/plan.ts'
import type { ObjectStore } from '../store/store.ts'

export interface EventRecorderInput {
  /** A store with its own write limit is best: a burst of Events must not delay other writes. */
  store: Pick<ObjectStore, 'create'>
  /** Milliseconds since the epoch. */
  now: () => number
  observer: EventObserver
}

export interface EventObserver {
  /** Reports the result of one Event. `dropped`: the buffer was full. */
  recorded(result: 'written' | 'dropped' | 'failed', error?: unknown): void
}

export interface EventRecorder {
  /** Queues an Event. Never throws and never waits. Lost Events are counted, as in client-go's recorder. */
  record(event: EventAction): void
  /** Drops the queued Events; resolves when the current write has ended. */
  stop(): Promise<void>
}

/** The buffer size of client-go's broadcaster. Further Events are dropped. */
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
      // Built now, so that its timestamps are those of the cause, not of the write.
      pending.push(buildEvent(event, now()))
      writing ??= writeAll()
    },
    async stop() {
      pending = []
      await writing
    },
  }
}

/** An Event about a cluster-scoped object is in the namespace `default`, as in Kubernetes. */
function buildEvent({ about, type, reason, message, decisionId }: EventAction, now: number): K8sObject {
  const { namespace = 'default', name = '', uid, resourceVersion } = about.metadata
  const time = new Date(now).toISOString().replace(/\.\d+Z$/, 'Z')
  const event: K8sObject & Record<string, unknown> = {
    apiVersion: 'v1',
    kind: 'Event',
    // The APIService of the core group ends with a dot, which an Event may not contain twice.
    metadata: {
      generateName: `${name.replace(/\.+$/, '')}.`.slice(0, 200),
      namespace,
      ...(decisionId !== undefined && { labels: { [DECISION_ID_LABEL]: decisionId } }),
    },
    involvedObject: defined({
      apiVersion: about.apiVersion,
      kind: about.kind,
      name,
      namespace: about.metadata.namespace,
      uid,
      resourceVersion,
    }),
    type,
    reason,
    message: withDecision(message, decisionId),
    source: { component: 'lodestone' },
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
  }
  return event
}

const MAX_MESSAGE_LENGTH = 1024

/** Appends the id of the decision: `kubectl describe` shows no labels of Events. */
function withDecision(message: string, decisionId: string | undefined): string {
  const id = decisionId === undefined ? '' : ` (decision ${decisionId})`
  return `${firstCharacters(message, MAX_MESSAGE_LENGTH - id.length)}${id}`
}
