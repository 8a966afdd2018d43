/** Runs loops as the application does, until the test is over: a run that failed fails the test. */
import { expect, onTestFinished } from 'vitest'
import type { ClusterScopedClaims } from '../../src/core/data-source-claim/permission.ts'
import type { PlacementTiming } from '../../src/core/resource-binding/timing.ts'
import type { WorkloadKinds } from '../../src/core/workload-kinds/kinds.ts'
import type { Systems } from '../../src/locality/locality.ts'
import { type Controller, startController } from '../../src/reconcile/controller.ts'
import type { ReconcileLoop } from '../../src/reconcile/define.ts'
import { openEventRecorder } from '../../src/reconcile/event-recorder.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import { loopSettings } from '../loop-settings.ts'

export interface RunInput {
  store: ObjectStore
  loops: readonly ReconcileLoop[]
  /** None unless given. */
  systems?: Systems
  maxMovesPerMinute?: number
  /** Forbidden unless given. */
  clusterScopedClaims?: ClusterScopedClaims
  /** The shipped table unless given. */
  kinds?: WorkloadKinds
  /** Milliseconds since the epoch; the time of day unless given. */
  now?: () => number
  /** The defaults unless given. */
  timing?: PlacementTiming
}

/** Starts the loops on a store that has been read. Gives their controller, for tests that stop it themselves. */
export function runLoops({ store, loops, maxMovesPerMinute = 60, now = Date.now, ...settings }: RunInput): Controller {
  const failures: string[] = []
  const events = openEventRecorder({ store, now, observer: { recorded: () => undefined } })
  const controller = startController({
    loops,
    store,
    events,
    now,
    maxMovesPerMinute,
    ...loopSettings,
    ...settings,
    driftIntervalMs: 600_000,
    observer: {
      done: () => undefined,
      queryEnded: () => undefined,
      moved: () => undefined,
      failed: (loop, key, error) => failures.push(`${loop} ${key}: ${error}`),
    },
  })
  onTestFinished(async () => {
    await controller.stop()
    await events.stop()
    expect(failures).toEqual([])
  })
  return controller
}
