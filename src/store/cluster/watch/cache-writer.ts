/** Writes the objects of lists and the events of watches into the cache of one kind. */
import type { K8sObject, ResourceType } from '../../../api/meta.ts'
import { withType } from '../../any-kind.ts'
import type { ObjectChange } from '../../cache/cache.ts'
import type { KindCache } from '../../cache/cached-store.ts'
import type { StoreObserver } from '../../observer.ts'
import type { ApiConnection } from '../api-connection.ts'
import { confirmKind, endsObject } from './absence.ts'
import { MalformedEventError, type WatchBatch, type WatchEventType } from './watcher.ts'

interface CacheWriterInput {
  connection: ApiConnection
  kind: KindCache
  observer: StoreObserver
  publish(change: ObjectChange<K8sObject>): void
}

export interface CacheWriter {
  /** Applies an event of a watch. The deletion of an object may have to be confirmed first. */
  apply(event: WatchEventType, raw: K8sObject, served: ResourceType, batch: WatchBatch): void | Promise<void>
  /** Passes on the cached fields of an object. An object that cannot be cached is reported and skipped, so that the others stay available. */
  keep(raw: K8sObject, served: ResourceType, put: (object: K8sObject) => void): void
}

/** Creates a writer. `signal` aborts its requests. */
export function createCacheWriter(
  { connection, kind, observer, publish }: CacheWriterInput,
  signal: AbortSignal,
): CacheWriter {
  const publishChange = (change: ObjectChange<K8sObject> | undefined) => void (change && publish(change))

  function keep(raw: K8sObject, served: ResourceType, put: (object: K8sObject) => void): void {
    try {
      put(kind.keep(withType(served, raw)))
    } catch (error) {
      const message = `${raw.metadata?.namespace ?? ''}/${raw.metadata?.name ?? ''} cannot be cached`
      observer.error({ kind: kind.type.kind, message, error })
    }
  }

  function store(event: WatchEventType, raw: K8sObject, served: ResourceType): void {
    const { namespace, name = '' } = raw.metadata
    if (event === 'DELETED') publishChange(kind.cache.remove(namespace, name))
    else keep(raw, served, (object) => publishChange(kind.cache.put(object)))
  }

  /** The last batch of events whose kind was confirmed. A read of the CRD after the arrival of an event counts for all that came with it. */
  let confirmed: WatchBatch | undefined
  return {
    apply(event, raw, served, batch) {
      if (raw.metadata.name === undefined)
        throw new MalformedEventError(`watch of ${kind.type.plural}: an event without a name`)
      if (confirmed === batch || !endsObject(kind, event, raw)) return store(event, raw, served)
      return confirmKind(connection, kind, signal).then(() => {
        confirmed = batch
        store(event, raw, served)
      })
    },
    keep,
  }
}
