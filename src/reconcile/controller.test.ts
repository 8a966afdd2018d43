import { expect, onTestFinished, test } from 'vitest'
import { storeOf } from '../../test/stores.ts'
import { ConflictError, MissingPrerequisiteError, NotFoundError } from '../store/store.ts'
import { startController } from './controller.ts'

/** Runs a loop whose only key fails with `error` three times. Returns the failures that the controller reports. */
async function failuresOf(error: Error): Promise<{ key: string; retryInMs: number }[]> {
  const failures: { key: string; retryInMs: number }[] = []
  const succeeded = Promise.withResolvers<void>()
  let runs = 0
  const controller = startController({
    loops: [
      {
        name: 'claims',
        concurrency: 1,
        keysOf: () => [],
        allKeys: () => ['shop/sales'],
        async reconcile() {
          if (++runs <= 3) throw error
          succeeded.resolve()
          return undefined
        },
      },
    ],
    store: await storeOf(),
    events: { record: () => undefined },
    systems: { get: () => undefined, subscribe: () => () => undefined },
    now: () => 0,
    maxMovesPerMinute: 60,
    driftIntervalMs: 600_000,
    observer: {
      done: () => undefined,
      queryEnded: () => undefined,
      moved: () => undefined,
      failed: (_loop, key, _error, retryInMs) => failures.push({ key, retryInMs }),
    },
  })
  onTestFinished(() => controller.stop())
  await succeeded.promise
  return failures
}

test.each([
  { name: 'another client changed the object', error: new ConflictError('changed') },
  { name: 'another client deleted the object', error: new NotFoundError('not found') },
])('a run is retried without a report if $name', async ({ error }) => {
  expect(await failuresOf(error)).toEqual([])
})

test('a run is reported and retried with back-off if its namespace or kind is missing', async () => {
  const error = new MissingPrerequisiteError('namespace "shop" does not exist; create it')
  expect(await failuresOf(error)).toEqual([5, 10, 20].map((retryInMs) => ({ key: 'shop/sales', retryInMs })))
})
