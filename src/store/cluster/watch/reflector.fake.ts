/** A store of a fake API server with a clock that the test controls, for tests of reflectors. */
import { onTestFinished } from 'vitest'
import { clusters, resourceBindings } from '../../../api/karmada.ts'
import { settle, TestClock, until } from '../../../base/time/clock.fake.ts'
import type { AnyCachedKind } from '../../any-kind.ts'
import { bindingKind } from '../../objects.fake.ts'
import type { StoreObserver } from '../../observer.ts'
import { createConnection } from '../api-connection.ts'
import { type FakeApiServer, startFakeApiServer } from '../api-server.fake.ts'
import { type ClusterStore, type ClusterStoreInput, openClusterStore } from '../cluster.ts'

export interface Stage {
  server: FakeApiServer
  clock: TestClock
  store: ClusterStore
  /** The calls of the observer, as `event` or `event detail`, in order. */
  heard: string[]
  /** Starts the store and waits until the first watch of the bindings is open. */
  start(): Promise<void>
  /** Names of the bindings in the cache, sorted. */
  names(): string[]
  /** Every change so far, as `+name`, `~name` or `-name`. */
  changes: string[]
}

/** Opens a stage; it is closed after the test. */
export async function openStage(
  options: Partial<ClusterStoreInput> & { kinds?: readonly AnyCachedKind[] } = {},
): Promise<Stage> {
  const older = (options.kinds ?? []).flatMap(({ type }) =>
    (type.otherVersions ?? []).map((version) => ({ ...type, version })),
  )
  const server = await startFakeApiServer([resourceBindings, clusters, ...older])
  const clock = new TestClock()
  const heard: string[] = []
  const transport = { tls: {} }
  const connection = createConnection({
    server: server.url,
    read: async () => ({ headers: {}, transport }),
    forget: () => {},
  })
  const store = openClusterStore({ connection, clock, kinds: [bindingKind], observer: record(heard), ...options })
  const changes: string[] = []
  store.subscribe(({ before, after }) => {
    const sign = before === undefined ? '+' : after === undefined ? '-' : '~'
    changes.push(sign + (after ?? before)?.metadata.name)
  })
  onTestFinished(async () => {
    await store.stop()
    await connection.close()
  })
  return {
    server,
    clock,
    store,
    heard,
    changes,
    async start() {
      await store.start(new AbortController().signal)
      await until(() => server.watches(resourceBindings).length === 1)
    },
    names: () => [...store.list(resourceBindings)].map((object) => object.metadata.name ?? '').sort(),
  }
}

/** Advances the time in steps shorter than any watchdog, until `condition` is true. */
export async function pass(clock: TestClock, condition: () => boolean): Promise<void> {
  for (let step = 0; step < 200 && !condition(); step++) {
    await settle(5)
    if (clock.waits.some((waitMs) => waitMs <= 31_000)) clock.advance(1000)
  }
  await until(condition)
}

function record(heard: string[]): StoreObserver {
  return {
    listed: ({ items, changes }) => heard.push(`listed ${items} items, ${changes} changes`),
    relisted: ({ reason }) => heard.push(`list ${reason}`),
    watchEnded: ({ result }) => heard.push(`watch ${result}`),
    served: ({ served }) => heard.push(served ? 'served' : 'not served'),
    availability: ({ unavailable }) => heard.push(unavailable ? `unavailable ${unavailable.reason}` : 'available'),
    error: ({ message }) => heard.push(`error ${message}`),
    event: () => {},
    fileError: ({ message }) => heard.push(`file ${message}`),
  }
}
