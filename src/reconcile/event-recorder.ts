/**
 * Writes Events in the background: one at a time, in the order of each namespace, without delaying the loops. Neither an object nor a namespace
 * takes the room of the others.
 */

import { events } from '../api/event.ts'
import { DECISION_ID_LABEL } from '../api/lodestone.ts'
import { type K8sObject, keyOfObject } from '../api/meta.ts'
import { firstCharacters } from '../base/first-characters.ts'
import { defined } from '../base/json.ts'
import { toTime } from '../base/time/timestamp.ts'
import { TokenBucket } from '../base/time/token-bucket.ts'
import type { EventAction } from '../core/plan.ts'
import type { ObjectStore } from '../store/store.ts'
import { FairQueue } from './fair-queue.ts'

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

/** A namespace may have as many waiting Events as there is room left: alone a thousand, the buffer size of client-go's broadcaster. */
const MAX_PENDING = 2000

/** Of one object: 25 Events at once, then one in 5 minutes, as in client-go (tools/record/events_cache.go, EventSourceObjectSpamFilter). */
const OBJECT_RATE = { perSecond: 1 / 300, burst: 25 }
/** As many objects are remembered as in client-go. */
const MAX_OBJECTS = 4096

export function openEventRecorder({ store, now, observer }: EventRecorderInput): EventRecorder {
  let pending = new FairQueue<K8sObject>()
  const objects = new Map<string, TokenBucket>()
  let writing: Promise<void> | undefined

  async function writeAll(): Promise<void> {
    for (let event = pending.take(); event !== undefined; event = pending.take()) {
      try {
        await store.create(events, event)
        observer.recorded('written')
      } catch (error) {
        observer.recorded('failed', error)
      }
    }
    writing = undefined
  }

  /** Whether an object has had too many Events. */
  function isSpam(about: K8sObject): boolean {
    const key = `${about.kind} ${keyOfObject(about)}`
    const bucket = objects.get(key) ?? new TokenBucket(OBJECT_RATE, now())
    // The last one now. The first one has had no Event for the longest time.
    objects.delete(key)
    objects.set(key, bucket)
    const [oldest] = objects.keys()
    if (objects.size > MAX_OBJECTS && oldest !== undefined) objects.delete(oldest)
    return bucket.take(now()) > 0
  }

  return {
    record(event) {
      const { namespace = 'default' } = event.about.metadata
      const isFull = pending.sizeOf(namespace) >= MAX_PENDING - pending.size
      if (isFull || isSpam(event.about)) return observer.recorded('dropped')
      // Built now, so that its timestamps are those of the cause, not of the write.
      pending.add(buildEvent(event, now()), [namespace])
      writing ??= writeAll()
    },
    async stop() {
      pending = new FairQueue()
      await writing
    },
  }
}

/** An Event about a cluster-scoped object is in the namespace `default`, as in Kubernetes. */
function buildEvent({ about, type, reason, message, decisionId }: EventAction, now: number): K8sObject {
  const { namespace = 'default', name = '', uid, resourceVersion } = about.metadata
  const time = toTime(now)
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
